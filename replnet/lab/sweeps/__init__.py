"""Experiments run cell by cell, and what their tables say.

In it:

    sweep            run an experiment: every cell once, on any number of workers, into a directory to carry on with
    finished         the result of a sweep, finished or not: its records, and what follows from them
    forecast         what a sweep will take, from a glance at a few of its cells
    loggers          classes of other packages that are told of finished cells and of the end of a sweep
    statements       claims, mistakes of a paper, and expected values, checked on a finished table
    labelled_arrays  the table as arrays of xarray, with a dimension for each axis
    judged_table     the finished table: every cell's rows judged together, beside what a paper prints
    stored_table     the table as a file: columns of one schema whatever the run
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.lab.sweeps.finished import Sweep, compare, open
    from replnet.lab.sweeps.forecast import Forecast, forecast
    from replnet.lab.sweeps.judged_table import COLUMNS, DIFFERENCES, compare_sweeps, table_of_rows
    from replnet.lab.sweeps.statements import CheckedClaim, Expectation, ShownErratum, claims_in_words, how_many_hold
    from replnet.lab.sweeps.loggers import logger
    from replnet.lab.sweeps.stored_table import STORED_COLUMNS, run_id, stored_table
    from replnet.lab.sweeps.sweep import RayLost, SweepGlimpse, SweepProgress, earlier_run, sweep
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
