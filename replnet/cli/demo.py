"""One small network three times over: what the formulas say, emulated in virtual time, and for real."""

from __future__ import annotations

from replnet.cli.output import number
from replnet.cli.screen import echo, print_table
from replnet.measure.row import Row
from replnet.study.result import Emulated

NETWORK = "cooperative"
VIRTUAL = 20_000.0  # units of time
REAL = 400.0  # shared out among 32 paths that run at the same time
RESOLUTION = 0.03  # of those: seconds do not give a narrower interval


def show() -> bool:
    """Whether predicted and measured agree both times."""
    from replnet.cli.progress import progress
    from replnet.cli.watch import watching
    from replnet.network.network import load
    from replnet.study.emulate import emulate
    from replnet.study.live_run import ray_meanwhile, run_for_real

    network = load(NETWORK)
    echo(network.describe())
    echo()
    with ray_meanwhile() as started:
        with progress() as report:
            report(0.0, "emulating it, while Ray starts")
            virtual = emulate(network, horizon=VIRTUAL, progress=report)
            report(1.0, "waiting for Ray")
            started()
        with watching() as watch:
            live = run_for_real(network, horizon=REAL, resolution=RESOLUTION, watch=watch)
    _table(virtual, live)
    return "differ" not in (virtual.verdict, live.verdict)


def _table(virtual: Emulated, live: Emulated) -> None:
    heads = ["group", "metric", "predicted", "emulated (array)", "for real (Ray)", "verdicts"]
    both = zip(virtual.rows, live.rows, strict=False)
    print_table(heads, [[a.group, a.metric, number(a.predicted), _shown(a), _shown(b), f"{a.verdict}, {b.verdict}"]
                    for a, b in both])  # fmt: skip
    for row in live.rows:
        if row.predicted is None:
            echo(f"  for real: {row.note}")
    delay = live.provenance["reply_delay"]["mean"] * live.provenance["time_scale"]
    echo(
        f"emulated: {virtual.events:,} events in {virtual.seconds:.1f} s. For real: {live.events:,} events and "
        f"{live.provenance['messages']:,} messages between nodes in {live.provenance['hosts']} Ray actors, "
        f"{live.provenance['messages_per_second']:,.0f} messages a second, replies after {1e3 * delay:.2g} ms."
    )


def _shown(row: Row) -> str:
    if row.measured is None or row.ci_low is None or row.ci_high is None:
        return number(row.measured)
    return f"{row.measured:.4f} ± {(row.ci_high - row.ci_low) / 2:.4f}"
