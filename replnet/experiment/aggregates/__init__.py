"""Networks of many sources: the budget shared out, what is predicted, and what is measured."""
