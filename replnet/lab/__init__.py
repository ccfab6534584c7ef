"""What is built on runs and formulas: the papers, experiments, sweeps and inverse problems.

In it:

    runs            `emulate`: chooses the engine; runs may be kept, watched, shared among workers, or on the wall clock
    kept_run        a run in a directory: an experiment of one cell, whose replications are stored as they are made
    papers          the formulas of the papers, equation by equation
    named_formulas  formulas known by name, whose signature is their schema in experiments and on the command line
    formula_table   the values of one formula as a table
    experiment      experiments as files: their contents, checked, and the cells that follow
    sweeps          experiments run cell by cell, and their tables
    inverse         which rates, sizes or networks meet a target
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.lab.named_formulas import arguments, compute, formula_schema, formulas
    from replnet.lab.formula_table import formula
    from replnet.lab.kept_run import row_from_record
    from replnet.lab.runs import emulate
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
