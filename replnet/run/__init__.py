"""One network, predicted and emulated.

In it:

    predict       predictions as a table
    emulate       replications until the horizon or the precision is reached, then one table
    replications  replications until there are enough of them, or every interval is narrow enough, or Ctrl-C
    findings      the results of paths beside the predictions: estimates, verdicts and rows
    caveats       how far measured intervals can be trusted
    schedule      how often each of many sources is visited, how fresh its copy is, and when next
    threshold     thresholds for a result, such as freshness > 0.9, as users write them
    settings      the settings of a run: all that its result depends on, besides the network
    event_log     the events of a run in a Parquet file
    result        the results of predictions and emulations: rows, and where they come from
    legend        the meanings of the words in a table
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.run.caveats import NO_VARIANCE, upstream_processes
    from replnet.run.emulate import default_horizon, emulate_network, fastest_engine, replications_of
    from replnet.run.event_log import File, Trace, event_log
    from replnet.run.findings import Findings, Key
    from replnet.run.legend import COLUMNS, KINDS, PRINTED, VERDICTS
    from replnet.run.predict import Measure, metrics_of, predict, rows_by_source
    from replnet.run.replications import EVENTS, INTERRUPTED, Progress, REPLICATIONS, Replications
    from replnet.run.result import (
        Emulated,
        Predicted,
        Result,
        TabularResult,
        commit,
        instructions,
        provenance,
        samples_frame,
    )
    from replnet.run.schedule import schedule
    from replnet.run.settings import Settings
    from replnet.run.threshold import Threshold, demand_text, read_threshold
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
