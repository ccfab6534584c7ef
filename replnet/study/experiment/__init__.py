"""Experiments as files: what they say, checked, and the cells that follow.

In it:

    axes         what varies: axes of values, given as lists or ranges, and the points of their product
    best_size    the best size of a system: by formula, measured where the formula puts it, or by emulation
    cells        the cells of an experiment: named values at a point, and the subject that follows, with its settings
    checks       faults that show before cells are made: in names, axes, printed values, claims, groups
    experiment   experiments: YAML files with overrides, or plain data, as checked objects that know their cells
    sections     an experiment as users write it: the sections of its file, their types, and their JSON Schema
    soundness    all that is wrong with an experiment, at once
    subjects     what a cell is about: a network, a formula or a best size; how it is predicted, run, and what it costs
    system       systems whose best size is sought, in the place of a network (P2P VI-D and VII-B)
"""
