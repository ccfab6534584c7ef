"""Networks of many sources: the budget shared out, what is predicted, and what is measured.

In reading order:

    system       an aggregate made ready: its sources, and how often each is downloaded
    allocation   the budget shared out by the policy that is named
    expected     what the formulas say
    paths        what one path yields, summed over sources
    found        what all paths amount to: estimates, verdicts and rows
    emulated     predict and emulate, put together
"""
