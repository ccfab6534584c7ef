"""From laws to instants: random streams, stationary processes, intervals that depend on one another.

In it:

    streams        named random streams: one per (seed, replication, node, purpose)
    renewal        stationary processes, generated outwards from time zero; memory that windows reuse
    schedules      processes that are scheduled together, in rounds or slots that they share
    carousel       a round in which every page comes at its rate (Crawl, Algorithm 3)
    process_set    sets of renewals, scheduled processes and silent ones, with one window for all
    kernels        the compiled loops: words to uniforms and intervals, intervals to instants

Laws whose intervals depend on one another:

    order          a law of the intervals, and the order in which they come
    sequences      listed intervals over and over, and intervals that are correlated with those before them
    recorded_times  times as they stand in files: rows, the column of times, numbers and dates
    trace          the law of the intervals between recorded events, and the process that plays them again
    poisson        Poisson processes whose rate changes, by the clock or at random
    windows        events that fall into a window of the day
    superposition  the union of independent processes: many users, many authors, many feeds
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.processes.carousel import long_round
    from replnet.processes.kernels import AHEAD, LINE, ONE, fetch, natural, word
    from replnet.processes.order import Ordered, independent_law, shuffled
    from replnet.processes.poisson import diurnal, modulated
    from replnet.processes.process_set import ProcessSet
    from replnet.processes.recorded_times import (
        TIME_COLUMNS,
        date_unit,
        find_column,
        parse_numbers,
        parse_time,
        read_rows,
        time_cells,
    )
    from replnet.processes.renewal import (
        INSTANTS_PER_ROW,
        LARGEST_WINDOW,
        PAST_INSTANTS_PER_ROW,
        Renewals,
        Scratch,
        Window,
        distinct_with_places,
        most_past_instants,
    )
    from replnet.processes.schedules import Draws, Round, Scattered, Schedule, Shuffled
    from replnet.processes.sequences import Cycle, alternating, correlated, longrange
    from replnet.processes.streams import (
        CHOICES,
        FUTURE,
        GOLDEN,
        LOSSES,
        PAST,
        PURPOSES,
        START,
        Streams,
        Words,
        draw_distinct,
        exponentials,
        mix,
        name_words,
        seed_words,
        streams,
        uniforms,
        words,
    )
    from replnet.processes.superposition import Union, superposition
    from replnet.processes.trace import read_times, trace
    from replnet.processes.windows import windowed
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
