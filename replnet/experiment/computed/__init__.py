"""Formulas that are looked at by themselves: no network stands behind them that could be emulated.

In reading order:

    computation   what every formula has: arguments as fields, rows of groups and metrics
    registry      all of them by name
    crawl         those of Crawl
    staleness     those of Staleness
    sync          those of Sync
    quotient      one number over another
"""
