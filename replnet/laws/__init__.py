"""Interval laws: their formulas, how they are written, and their ages.

In it:

    law          the interface of interval laws, and how families of them are declared
    families     the families with closed forms for nearly everything, the age included
    shapes       families with a shape parameter: Weibull, gamma, lognormal
    discrete     laws on finitely many values: a lattice, the intervals of a record, and their ages
    inversion    from an exponential to the interval, for laws without a formula: by search, or from a table
    piecewise    functions as piecewise polynomials: fitted, evaluated, integrated, refined
    numeric      the age of any law, by quadrature
    scipy_law    any continuous distribution of scipy.stats that is a law of intervals
    text         the text form of laws: `pareto(alpha=3, rate=2)`, the same in YAML, on the command line and in Python
    examination  laws that others wrote: examined before use, and checked at every answer

Laws whose intervals depend on one another are in `processes`, the next part, and offered here beside the others, the
only names that a part takes from a later one.
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.laws.discrete import Discrete, Empirical, Lattice, empirical, lattice
    from replnet.laws.families import (
        Constant,
        Exponential,
        Hyperexponential,
        Pareto,
        Uniform,
        constant,
        exponential,
        hyperexponential,
        pareto,
        uniform,
    )
    from replnet.laws.law import (
        Array,
        Flags,
        Floats,
        Ints,
        Law,
        OLDEST,
        commensurable,
        family,
        has_coarse_lattice,
        sorted_distinct,
        span_ratio,
        special,
    )
    from replnet.laws.numeric import Age, Numerical, TailIntegral
    from replnet.laws.piecewise import (
        INTEGRALS_TO_POINTS,
        NODES,
        RESOLVED,
        Curve,
        fit_curve,
        panel_points,
        resolution_error,
        to_powers,
    )
    from replnet.laws.scipy_law import Scipy, scipy
    from replnet.laws.shapes import Gamma, Lognormal, Weibull, erlang, gamma, lognormal, weibull
    from replnet.laws.text import at_rate, describes_law, law, law_families, law_of
    from replnet.processes import (
        Ordered,
        alternating,
        correlated,
        diurnal,
        longrange,
        modulated,
        shuffled,
        superposition,
        trace,
        windowed,
    )
    from replnet.text import FieldError
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
