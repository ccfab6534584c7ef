"""Experiments as files: what they say, checked, and the cells that follow.

In reading order:

    specification   an experiment: read, checked, and asked for its cells
    sections        the sections of its file
    models          the types of their fields; `run`, `quick` and `figure`
    statements      printed and expected values, errata and claims
    expressions     arithmetic over named values, such as ${4 / k}
    names           named values and axes: what depends on what
    axes            what varies, and the points of that
    overrides       `-s key=value`, `--zip` and `--quick`
    cells           one checked network, or what stands in its place, per point
    groups          which groups the tables will have
    checks          what can be said before any cell is made
    optimise        systems whose best size is sought, in the place of a network
    schema          JSON Schema for editors
"""
