"""How often the 95 % interval of a run covers the exact prediction.

    python experiments/benchmarks/intervals.py [--runs 2000] [--only constant]

Ten combinations of laws, each run from seeds 1, 2, ... Every run is 32
replications and one interval, as `replnet.emulate` makes it first. (It runs four
times longer when a row differs; that second look would flatter the coverage, so
runs are made here without it.) The exit code is 1 if one of them covers the
prediction in less than 93.5 or more than 96.5 % of its runs. With 2,000 runs and
intervals that cover 95 % in truth, chance alone does that to all ten together
once in 50 times; with fewer runs it does so more often.

A run that misses does so from above (the whole interval above the prediction)
or from below; both alike mean a fair interval, one more than the other a skew.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

import replnet as rn
from replnet.engines.array.array import make_runner
from replnet.engines.path import Task
from replnet.engines.plan import plan
from replnet.measure.estimate import Estimate, ratio
from replnet.predictions.formulas import formulas
from replnet.run.caveats import infinite_variance_note, upstream_processes

LEAST, MOST = 0.935, 0.965
E1 = "exponential(rate=1)"
REPLICATIONS = 32
LENGTH = 100.0  # of a replication


@dataclass(frozen=True)
class Case:
    """A network, and the group whose freshness is judged."""

    name: str
    network: rn.Network
    group: str = "level 1"
    estimator: str = "sampled"


def single(updates: str, downloads: str) -> rn.Network:
    return rn.single(updates=updates, downloads=downloads)


def cases() -> list[Case]:
    return [
        Case("single, exponential / exponential", single("exponential(rate=2)", "exponential(rate=3)")),
        Case("single, Pareto(3) / constant", single("pareto(alpha=3, rate=2)", "constant(rate=3)")),
        Case("single, constant / exponential", single("constant(rate=2)", "exponential(rate=3)")),
        Case("single, constant / constant, phases locked", single("constant(rate=2)", "constant(rate=2)")),
        Case(
            "second level, Weibull(0.6) / gamma(2)",
            rn.cascade(depth=2, branching=2, updates="weibull(shape=0.6, rate=1)", downloads="gamma(shape=2, rate=2)"),
            group="level 2",
        ),
        Case(
            "cluster of 10, all exponential",
            rn.cooperative(
                replicas=10, peers=1, updates="exponential(rate=1)", downloads="exponential(rate=1)",
                polls="exponential(rate=4)",
            ),
            group="cluster",
        ),
        Case(
            "cluster of 5, uniform / exponential, two peers",
            rn.cooperative(
                replicas=5, peers=2, updates="uniform(low=0, high=2)", downloads="exponential(rate=1)",
                polls="exponential(rate=1)",
            ),
            group="cluster", estimator="conditional",
        ),
        Case(
            "clients of 3 in 10, lognormal(1) / constant",
            rn.redundant(
                replicas=10, ask=3, updates="lognormal(sigma=1, rate=1)", downloads="constant(rate=1)",
                queries="exponential(rate=20)",
            ),
            group="clients",
        ),
        Case("single, exponential / Pareto(3)", single(E1, "pareto(alpha=3, rate=2)")),
        Case("single, exponential / Pareto(3), over updates", single(E1, "pareto(alpha=3, rate=2)"),
             estimator="conditional"),
    ]  # fmt: skip


@dataclass(frozen=True)
class Coverage:
    """What the intervals of many runs made of one prediction."""

    predicted: float
    lows: np.ndarray
    highs: np.ndarray

    @property
    def below(self) -> float:
        """Share of intervals that lie below the prediction."""
        return float(np.mean(self.highs < self.predicted))

    @property
    def above(self) -> float:
        return float(np.mean(self.lows > self.predicted))

    @property
    def covered(self) -> float:
        return 1 - self.below - self.above

    @property
    def fair(self) -> bool:
        return LEAST <= self.covered <= MOST


class Runner:
    """Runs of one case, compiled once."""

    def __init__(self, case: Case) -> None:
        compiled = plan(case.network)
        at = compiled.groups.index(case.group)
        self._plan, self._sampled = compiled, case.estimator == "sampled"
        self._of, self._doubt = (
            (case.group, "freshness"),
            infinite_variance_note(compiled, at, -1, upstream_processes(compiled, at), self._sampled),
        )
        formula = formulas(compiled.topology)[self._of]
        assert formula.kind == "exact", f"{case.name}: coverage needs an exact prediction, not {formula.kind}"
        self.predicted = formula.value

    def interval(self, seed: int) -> Estimate:
        """As `replnet.emulate` makes it of its first 32 replications."""
        run, at_once = make_runner(Task(self._plan, seed, LENGTH, self._sampled))
        starts = range(0, REPLICATIONS, at_once)
        paths = [path for at in starts for path in run(range(at, min(at + at_once, REPLICATIONS)))]
        assert not any(path.unproven for path in paths)
        amounts, wholes = np.array([path.shares[self._of] for path in paths]).T
        return ratio(amounts, wholes, doubt=self._doubt)

    def coverage(self, seeds: Sequence[int]) -> Coverage:
        estimates = [self.interval(seed) for seed in seeds]
        assert self.predicted is not None
        return Coverage(self.predicted, np.array([e.low for e in estimates]), np.array([e.high for e in estimates]))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=2_000)
    parser.add_argument("--only", default="", help="part of the names of those to run")
    args = parser.parse_args()
    chosen = [case for case in cases() if args.only in case.name]
    if not chosen or args.runs < 1:
        parser.error(f"--runs takes 1 or more, --only part of: {', '.join(case.name for case in cases())}")
    print("| updates / downloads | estimator | runs | predicted | covered % | below % | above % | half-width | |")
    print("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: | --- |")
    fair = True
    for case in chosen:
        print(f"{case.name}, {case.estimator}, {args.runs} runs", file=sys.stderr, flush=True)
        found = Runner(case).coverage(range(1, args.runs + 1))
        fair &= found.fair
        print(
            f"| {case.name} | {case.estimator} | {args.runs} | {found.predicted:.5f} | {100 * found.covered:.2f} | "
            f"{100 * found.below:.2f} | {100 * found.above:.2f} | {(found.highs - found.lows).mean() / 2:.2g} | "
            f"{'fair' if found.fair else 'NOT FAIR'} |",
            flush=True,
        )
    return 0 if fair else 1


if __name__ == "__main__":
    sys.exit(main())
