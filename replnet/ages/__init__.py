"""The algebra of information ages: what a copy of a copy, the best of several, or a member of a cluster holds.

In it:

    information_age  the law of the information age X of a copy, and what topologies do to it
    half_line        that law on the whole half line, and integrals against it
    penalties        staleness of a copy beyond fresh or not (Staleness II-IV, Sync 2.1), for any X
    fresh_spells     how long it stays fresh, and stale (P2P V-B)
    weights          what an age costs: weight functions w and their repeated integrals
    prediction       a predicted number, with where it comes from and how far it can be trusted
    roots            where increasing functions cross zero, such as rates that meet a target; edges, by bisection

    clusters         replicas that pull from the source and from one another (P2P VI)
    overlays         Poisson pulls along any links
    freshest_of      the freshest of several copies, some of which come by shared ways

    curve            functions of time: integrated on panels, convolved, computed as far as needed
    marching         equations that are solved forward, panel by panel
    panels           where to put panels: the jumps, bends and scales of laws

    transients       ages some time after something has happened, which are not stationary
    churn            a replica that goes down and comes back, downloading from a source that does not
    queueing         lines at nodes whose bandwidth is limited
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.ages import fresh_spells, penalties
    from replnet.ages.churn import LOST, age_if_lost, availability_if_lost, freshness_if_kept, share_up
    from replnet.ages.curve import GAUSS_NODES, GAUSS_WEIGHTS, clean_edges
    from replnet.ages.fresh_spells import residual, update_density
    from replnet.ages.freshest_of import ChoiceAges, forest_parts, freshest_of
    from replnet.ages.half_line import HalfLine, exists, half_line_law, integral_to_infinity
    from replnet.ages.information_age import (
        APART,
        MOST_SUBSETS,
        SOURCES,
        SUBSETS,
        CASCADE,
        DIRECT,
        InformationAge,
        Never,
        PullAge,
        REDUNDANT,
        Sum,
        best_of,
        direct,
        never,
        pull,
        with_delay,
    )
    from replnet.ages.panels import jumps, soft_marks
    from replnet.ages.penalties import INDEPENDENT, currency, expected_cost, missing_updates, source_penalty, staleness
    from replnet.ages.prediction import (
        Basis,
        CHECKED,
        NoFormulaError,
        Prediction,
        TooLongError,
        WITHOUT_RESULT,
        joint_basis,
        mean,
        unknown,
    )
    from replnet.ages.queueing import (
        BURST,
        COUNTING,
        LONG,
        POLLACZEK_KHINCHINE,
        arrival_exponent,
        service_exponent,
        theta_needed,
    )
    from replnet.ages.roots import (
        Family,
        ROOT_TOLERANCE,
        UnreachableError,
        bisect_edge,
        bracket,
        crossing,
        least_amount,
        rate_for,
    )
    from replnet.ages.transients import SINCE, SinceCut, SinceEmpty, SinceFresh
    from replnet.ages.weights import AGE, ONE, Weight, geometric_points, threshold, weight, weight_of
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
