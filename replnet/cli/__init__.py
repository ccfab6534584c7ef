"""The command line: words in, text out.

Commands:

    main           the commands about one network, and `main` itself
    starting       init, check, schema, size
    sweeps         sweep, status, report, compare, reproduce
    reproducing    what `reproduce` runs
    traces         trace import, trace fit, audit
    formulas       formula
    demo           one network three times over
    doctor         what works here, and how fast
    thresholds     demands on a result, such as 'freshness > 0.9'
    codes          exit codes

What they write:

    output         results as text, JSON or CSV
    sweep_tables   the same of sweeps
    trace_tables   the same of recorded histories
    screen         lines and tables in which quoted text cannot steer the terminal
    progress       progress of runs that take longer than a glance
    watch          a live run as it goes
    sweep_view     a sweep as it goes
"""

from replnet.cli.main import main

__all__ = ["main"]
