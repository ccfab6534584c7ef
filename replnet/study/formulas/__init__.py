"""Formulas that are looked at by themselves: no network stands behind them.

In it:

    computation  A formula with its arguments, as the subject of an experiment in the place of a network
    crawl        formulas of Crawl: policies beside the numerical optimum
    quotient     one number over another: what a paper's own figures make of each other
    registry     all formulas by name
    staleness    formulas of Staleness V and VI that no run of one network answers
    sync         formulas of Sync that no run of a network answers: ratios of policies, all change rates at once
"""
