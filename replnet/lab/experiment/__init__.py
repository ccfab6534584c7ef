"""Experiments as files: what they say, checked, and the cells that follow.

In it:

    axes         what varies: axes of values, given as lists or ranges, and the points of their product
    cells        the cells of an experiment: named values at a point, and the subject that follows, with its settings
    checks       errors that show before cells are made: in names, axes, printed values, claims, groups
    experiment   experiments: YAML files with overrides, or plain data, as checked objects that know their cells
    sections     an experiment as users write it: the sections of its file, their types, and their JSON Schema
    soundness    all that is wrong with an experiment, at once
    subjects     what a cell is about: a network, a formula or a best size; how it is predicted, run, and what it costs
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.lab.experiment.axes import Axis, same_value
    from replnet.lab.experiment.cells import Cell, key_of_longer
    from replnet.lab.experiment.experiment import Experiment, load_experiment
    from replnet.lab.experiment.sections import (
        Claim,
        Erratum,
        Expected,
        GROUP,
        Kind,
        Run,
        SUBJECTS,
        StatedValue,
        experiment_schema,
    )
    from replnet.lab.experiment.subjects import (
        NetworkSubject,
        RunOutput,
        SHORT_RUN,
        Subject,
        emulate_so_far,
        emulate_whole,
        groups_of,
        require_whole,
    )
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
