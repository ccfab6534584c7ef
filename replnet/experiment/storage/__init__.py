"""Run directories that lose nothing."""
