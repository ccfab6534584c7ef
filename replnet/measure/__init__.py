"""From what replications yielded to estimates with intervals, and to verdicts."""
