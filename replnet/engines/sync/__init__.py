"""Synchronisation policies at work: schedules that are executed."""
