"""Recorded histories: read, fitted, replayed, audited."""
