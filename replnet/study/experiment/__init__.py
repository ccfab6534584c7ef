"""Experiments as files: what they say, checked, and the cells that follow.

In it:

    axes            what varies: axes of values, given as lists or ranges, and the points of their product
    axis_overrides  `-s key=value`, `--zip a,b` and `--quick` applied to an experiment
    cells           the cells of an experiment: one checked network, or what stands in its place, with its settings
    checks          what can be said of an experiment before any of its cells is made: names, axes, prints
    experiment      experiments: YAML files, or plain data, as checked objects that know their cells
    groups          the groups that tables of an experiment have, from specifications alone
    models          the types of an experiment's fields, and its sections on how cells are run and drawn
    names           named values and axes: what depends on what, and what each is at a point
    schema          JSON Schema of an experiment, for editors that complete and check
    sections        an experiment as users write it: the sections of its file
    statements      what is said about the cells of an experiment: values that a paper prints, values expected, claims
    system_fields   systems whose best size is sought, in the place of a network (P2P VI-D and VII-B)
"""
