"""The command line: words in, text out."""

from replnet.cli.main import main

__all__ = ["main"]
