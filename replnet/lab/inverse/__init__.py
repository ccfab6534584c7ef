"""Inverse problems: which rates, sizes or networks meet a target, and at what cost.

In it:

    search         the least amount that meets a demand, and the cheapest of several amounts
    sizing         the smallest or largest value of one field at which a network meets a target
    designing      from a target to a network: architecture, law of pulls and rates with the fewest messages
    architectures  replicas that ask the source, tiers above them, clusters, redundancy: in all sizes, their rates open
    rate_search    the rates of the fewest messages for an architecture
    best_size      the best size of a system: by formula, measured where the formula puts it, or by emulation
    system         systems whose best size is sought, in the place of a network (P2P VI-D and VII-B)
    targets        targets, by how much networks meet them, and the networks that a search ends in, emulated
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.lab.inverse.best_size import BestSize, solve
    from replnet.lab.inverse.designing import COLUMNS, POLICIES, Candidate, Design, design
    from replnet.lab.inverse.rate_search import DIGITS
    from replnet.lab.inverse.sizing import (
        BY_FORMULA,
        CLOSE_BY_EMULATION,
        CLOSE_BY_FORMULA,
        STEP_FACTOR,
        Sized,
        predicted_size,
        size,
    )
    from replnet.lab.inverse.system import GAIN_METRICS, Optimise, SIZE_METRICS
    from replnet.lab.inverse.targets import read_target
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
