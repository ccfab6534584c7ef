"""Formulas that are looked at by themselves: no network stands behind them that could be emulated."""
