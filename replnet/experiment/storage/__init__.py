"""Run directories that lose nothing.

In reading order:

    durable   files that are there whole or not at all, and a lock that one process holds
    journal   an append-only file of records that knows what is missing from it
    store     a run directory: what was asked, every finished cell, and at the end the table
"""
