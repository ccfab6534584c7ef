"""Many sources and the copies of them, that are refreshed within a budget."""
