"""How fast replnet is, beside what one would write instead.

    pip install 'simpy>=4.1'          # optional: without it, SimPy is left out
    python experiments/benchmarks/speed.py [--seconds 1] [--repeats 5] [--tables speed,sizes,estimators]

`speed` times three workloads. Rounds go through all programs in turn; ratios are
taken inside a round, and the median over the rounds is printed, so that whatever
else the machine does weighs little. Times are CPU seconds of this one process.
replnet is timed as it is used: `replnet.emulate` from the network to the table,
so the more seconds, the less its set-up shows. Every freshness is compared with
the prediction: z counts standard errors, which replnet's interval gives for all
programs, since they sample the same thing. (The others start from empty
replicas, not from a stationary state; their horizons are long enough.)

`sizes` is what an event costs as a cluster grows. `estimators` is what the same
interval costs with either estimator: CPU seconds times the half-width squared.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.util
import statistics
import sys
import time
from collections.abc import Callable, Sequence

from workloads import Run, Spread, Workload, cluster, workloads

import replnet as rn

Program = Callable[[Workload, float, int], Run]
OURS, BASE = "replnet", "SimPy"
TABLES = ("speed", "sizes", "estimators")
QUANTILE = 2.0395  # of Student's law with 31 degrees of freedom, which turns a half-width into a standard error
LEAST_EVENTS = 10**8  # of a network in the table of sizes
MOST_EVENTS = 10**10  # of a run whose horizon is being looked for


def main() -> None:
    args = arguments()
    for name in args.tables:
        print({"speed": speed, "sizes": sizes, "estimators": estimators}[name](args), end="\n\n", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seconds", type=float, default=1.0, help="CPU seconds per measurement")
    parser.add_argument("--repeats", type=int, default=5, help="rounds")
    parser.add_argument("--tables", type=lambda text: text.split(","), default=TABLES, help="speed,sizes,estimators")
    parser.add_argument(
        "--sizes",
        type=lambda text: [int(float(size)) for size in text.split(",")],
        default=[100, 1_000, 10_000, 100_000],
        help="numbers of replicas",
    )
    parser.add_argument("--units", type=float, default=100.0, help="least time per replication in the table of sizes")
    args = parser.parse_args()
    if unknown := set(args.tables) - set(TABLES):
        parser.error(f"--tables: {', '.join(sorted(unknown))} is none of {', '.join(TABLES)}")
    return args


def ours(work: Workload, horizon: float, seed: int) -> Run:
    result = rn.emulate(work.build(), engine="array", seed=seed, horizon=horizon, workers=0)
    table = result.table
    fresh = table[table["metric"] == "freshness"]["measured"].tolist()
    return Run(result.events, result.horizon, fresh)


def programs() -> dict[str, Program]:
    """By name, SimPy first if it is there."""
    modules = {BASE: "with_simpy", "NumPy arrays": "with_numpy", "Numba heap loop": "with_numba"}
    if importlib.util.find_spec("simpy") is None:
        note("SimPy is not installed, so there are no ratios to it: pip install 'simpy>=4.1'")
        del modules[BASE]
    return {name: importlib.import_module(module).run for name, module in modules.items()} | {OURS: ours}


def able(name: str, work: Workload) -> bool:
    return work.polls is None or not name.startswith("NumPy")


def timed(program: Program, work: Workload, horizon: float, seed: int) -> Run:
    begun = time.process_time()
    run = program(work, horizon, seed)
    return run.took(time.process_time() - begun)


def horizon_for(program: Program, work: Workload, seconds: float) -> float:
    """How much time to emulate so that it takes about that many CPU seconds."""
    horizon = 20_000 / work.rate
    run = timed(program, work, horizon, 1)  # compiles, loads
    run = timed(program, work, horizon, 1)
    while run.seconds < 0.3 * seconds and horizon * work.rate < MOST_EVENTS:
        horizon *= min(max(0.5 * seconds / max(run.seconds, 1e-4), 2.0), 20.0)
        run = timed(program, work, horizon, 2)
    return horizon * seconds / run.seconds


def speed(args: argparse.Namespace) -> str:
    everyone = programs()
    works = {work.name: work for work in workloads()}
    pairs = [(w, name) for w in works for name in everyone if able(name, works[w])]
    horizons = {}
    for w, name in pairs:
        note(f"{w}: {name}, finding a horizon")
        horizons[w, name] = horizon_for(everyone[name], works[w], args.seconds)
    runs: dict[tuple[str, str], list[Run]] = {pair: [] for pair in pairs}
    for turn in range(args.repeats):
        note(f"round {turn + 1} of {args.repeats}")
        for w, name in pairs:
            runs[w, name].append(timed(everyone[name], works[w], horizons[w, name], 10 + turn))
    return "\n\n".join(
        speed_table(work, {name: runs[w, name] for v, name in pairs if v == w}) for w, work in works.items()
    )


def speed_table(work: Workload, runs: dict[str, list[Run]]) -> str:
    spread = spread_of(work)
    rows = []
    for name, these in runs.items():
        whole = sum(run.horizon for run in these)
        fresh = [sum(run.fresh[q] * run.horizon for run in these) / whole for q in range(len(work.sizes))]
        rows.append(
            [
                name,
                f"{statistics.median(run.speed for run in these) / 1e6:.3g}",
                f"{faster(these, runs[BASE]):.3g}" if BASE in runs else "",
                f"{faster(runs[OURS], these):.3g}",
                ", ".join(f"{x:.4f}" for x in fresh),
                f"{spread.z(fresh, work.predicted, whole):.1f}",
            ]
        )
    head = ["program", "M events / CPU s", "x SimPy", "replnet is x times as fast", "freshness", "z"]
    predicted = ", ".join(f"{x:.4f}" for x in work.predicted)
    return f"### {work.name}: predicted {predicted}\n\n{markdown(head, rows, left=(0, 4))}"


def faster(these: list[Run], those: list[Run]) -> float:
    """How many times as fast as those in the same round, the median."""
    return statistics.median(a.speed / b.speed for a, b in zip(these, those, strict=True))


def spread_of(work: Workload) -> Spread:
    result = rn.emulate(work.build(), engine="array", seed=2, horizon=20_000_000 / work.rate, workers=0)
    table = result.table[result.table["metric"] == "freshness"]
    half = (table["ci_high"] - table["ci_low"]) / 2
    return Spread([float(h) / QUANTILE * result.horizon**0.5 for h in half])


def sizes(args: argparse.Namespace) -> str:
    """Half as many rounds: at the largest size one takes as long as everything else."""
    works = {m: cluster(m) for m in args.sizes}
    costs: dict[int, list[float]] = {m: [] for m in works}
    starts: dict[int, list[float]] = {m: [] for m in works}
    timed(ours, cluster(3), 100.0, 1)  # compiles, loads
    for turn in range(max(args.repeats // 2, 1)):
        for m, work in works.items():
            note(f"cluster of {m:,}, round {turn + 1}")
            starts[m].append(timed(ours, work, 32e-6, 1).seconds)
            run = timed(ours, work, max(32 * args.units, LEAST_EVENTS / work.rate), 10 + turn)
            costs[m].append(1e9 * run.seconds / run.events)
    smallest = min(works)
    rows = []
    for m in works:
        ratio = statistics.median(a / b for a, b in zip(costs[m], costs[smallest], strict=True))
        start, cost = statistics.median(starts[m]), statistics.median(costs[m])
        rows.append([f"{m:,}", f"{cost:.1f}", f"{ratio:.2f}", f"{start:.2f}"])
    head = ["replicas", "CPU ns per event", f"x {smallest:,} replicas", "of which set-up, CPU s"]
    return f"### Cost of an event in a cluster (k = 1, lambda = mu = 1, nu = 4)\n\n{markdown(head, rows, left=())}"


def estimators(args: argparse.Namespace) -> str:
    """With 128 replications a round, so that the half-widths themselves are known to some per cent."""
    work, names = cluster(), ("sampled", "conditional")
    horizon = horizon_for(ours, work, args.seconds)
    costs: dict[str, list[float]] = {name: [] for name in names}
    widths: dict[str, list[float]] = {name: [] for name in names}
    for turn in range(args.repeats):
        for name in names:
            note(f"{name} estimator, round {turn + 1} of {args.repeats}")
            begun = time.process_time()
            result = rn.emulate(
                work.build(), seed=10 + turn, horizon=horizon, estimator=name, replications=128, workers=0
            )
            row = result.table.iloc[0]
            costs[name].append(time.process_time() - begun)
            widths[name].append(float(row["ci_high"] - row["ci_low"]) / 2)
    price = {n: statistics.mean(costs[n]) * statistics.mean(width**2 for width in widths[n]) for n in names}
    rows = [
        [n, f"{statistics.mean(costs[n]):.2f}", f"{statistics.median(widths[n]):.2g}", f"{price[n]:.2g}",
         f"{price['sampled'] / price[n]:.3g}"]
        for n in names
    ]  # fmt: skip
    head = ["estimator", "CPU s", "half-width", "CPU s x half-width squared", "times as cheap"]
    return f"### Estimators on {work.name}, {horizon:.3g} units of time\n\n{markdown(head, rows, left=(0,))}"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]], left: Sequence[int]) -> str:
    rule = ["---" if column in left else "---:" for column in range(len(head))]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *rows])


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
