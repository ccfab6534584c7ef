"""Networks of many sources: what one path yields, and what all of them amount to.

In it:

    emulated  predict and emulate networks of many sources
    found     what paths of an aggregate amount to, beside what the formulas say
    paths     one path of an aggregate: what its copies yielded, summed over sources by weight
    system    an aggregate made ready: its sources, how often each is downloaded, and who looks at the copies
"""
