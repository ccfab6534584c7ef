"""Callbacks of progress that interrupt what tells them."""

from __future__ import annotations


def ending(when, error=KeyboardInterrupt):
    """A progress that ends a search at the first words that have `when` in them, and keeps what it was told."""
    told = []

    def progress(share, words):
        told.append((share, words))
        if when in words:
            raise error

    return told, progress
