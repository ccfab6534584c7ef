"""Experiments as files: what they say, checked, and the cells that follow."""
