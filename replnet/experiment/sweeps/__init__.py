"""Experiments run cell by cell, and what their tables say."""
