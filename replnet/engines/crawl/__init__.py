"""Crawlers at work: pages that change, and the order in which they are refreshed."""
