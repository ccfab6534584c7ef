"""Run directories that lose nothing.

In it:

    durable  files that are there whole or not at all, and a lock that one process holds
    journal  an append-only file of records, one line each, that knows what is missing from it
    store    A run directory: what was asked, every finished cell, and at the end the table
"""
