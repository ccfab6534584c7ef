"""The command line: words in, text out.

What commands share:

    main               the command `replnet`: options that several share, exit codes, messages for errors
    usage              commands, and what is wrong with how one is called
    thresholds         demands on a result, such as 'freshness > 0.9'
    completion         names that a shell completes

Commands:

    networks           predict, run, network, size, formula
    visit_schedule     schedule: how often to visit each of many sources, and when next; what trace change-rate writes
    design             design: from a target to a network
    experiments        sweep, status, report, compare, reproduce
    traces             trace import, trace fit, trace change-rate, audit, and what they print
    visiting           watch: visits of a source and its replicas, recorded
    observe            observe: a source and its replicas as they were seen from outside
    starting           init, check, schema, list, demo
    doctor             doctor: does this installation work
    ui                 ui: pages in the browser

What they write:

    frames             tables with a row for each of many sources, written to files and printed in part
    output             lines and tables, JSON and CSV; results and sweeps
    explanation        what --explain adds to a table: what its words mean, and where its numbers come from
    printed_proposals  what observe proposes for a target, and the lines of cron and timers that do it
    printed_ages       how old the data of replicas was, as observe prints it
    progress           what is shown while something takes long
"""

import sys

try:
    from replnet.cli import (
        design,
        doctor,
        experiments,
        networks,
        observe,
        starting,
        traces,
        ui,
        visit_schedule,
        visiting,
    )
    from replnet.cli.main import main
except KeyboardInterrupt:  # before `main` is there to say so
    sys.stderr.write("interrupted\n")
    raise SystemExit(3) from None

__all__ = [
    "design",
    "doctor",
    "experiments",
    "main",
    "networks",
    "observe",
    "starting",
    "traces",
    "ui",
    "visit_schedule",
    "visiting",
]
