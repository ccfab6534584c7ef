"""Networks predicted, emulated and compared."""
