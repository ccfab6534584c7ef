"""What the optimal crawl costs per page as pages grow in number, and how close to the optimum it comes.

    python experiments/benchmarks/crawling.py [--sizes 1e4,1e5,1e6,1e7] [--repeats 5] [--tables cost,figure1]

`cost` times, per number of pages, Algorithm 2, Algorithm 1, the numerical optimum at fixed intervals (up to a
million pages, as it takes 50 times as long) and the carousel, a slot per page. Every size has a process of
its own, so that its memory can be told: the largest resident size beyond that with the pages alone. Times
are CPU seconds, the median over the repeats; the carousel's first stretch, in which all pages begin at once,
is among them.

`figure1` has, for the two data sets of Crawl Fig. 1 and each bandwidth, the weighted freshness of the numerical
optimum, and what others reach of it: the new algorithm's rates at fixed intervals (Crawl eq. 6), the carousel
of these rates with the intervals that it really makes, its random policy (eq. 5), and the policies of the figure.
The smallest and largest of several data sets is printed.
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence

import numpy as np

from replnet.allocation import POLICIES, Pages, optimal_fixed_rates, optimal_random_rates, optimal_shares
from replnet.lab.papers.crawl import fixed_freshness, order_freshness, random_freshness
from replnet.processes.carousel import Carousel

TABLES = ("cost", "figure1")
PROGRAMS = ("Algorithm 2", "Algorithm 1", "numerical optimum", "carousel")
MOST_NUMERICAL = 10**6
DATA_SETS = 5
SLOTS = 10**6  # of the carousel whose intervals are looked at


def main() -> None:
    args = arguments()
    if args.one:
        print(json.dumps(cost_of(args.one, int(args.sizes[0]), args.repeats)))
        return
    for name in args.tables:
        print({"cost": cost, "figure1": figure_1}[name](args), end="\n\n", flush=True)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--sizes", type=lambda text: [float(n) for n in text.split(",")], default=[1e4, 1e5, 1e6, 1e7], help="pages"
    )
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--tables", type=lambda text: text.split(","), default=TABLES, help="cost,figure1")
    parser.add_argument("--one", choices=PROGRAMS, help=argparse.SUPPRESS)
    args = parser.parse_args()
    if unknown := set(args.tables) - set(TABLES):
        parser.error(f"--tables: {', '.join(sorted(unknown))} is none of {', '.join(TABLES)}")
    return args


def synthetic(n: int) -> Pages:
    """Utilities and change rates uniform on [0, 1], as in one half of Fig. 1."""
    rng = np.random.default_rng(1)
    return Pages(rng.random(n), rng.random(n))


def work_on(program: str, pages: Pages) -> Callable[[], object]:
    budget = pages.size / 10
    if program == "carousel":
        carousel = Carousel(pages.utilities)
        return lambda: carousel.take(pages.size)
    work = {
        "Algorithm 2": lambda: optimal_random_rates(pages, budget),
        "Algorithm 1": lambda: optimal_shares(pages),
        "numerical optimum": lambda: optimal_fixed_rates(pages, budget),
    }
    return work[program]


def cost_of(program: str, n: int, repeats: int) -> dict[str, float]:
    """CPU seconds, and MB beyond the pages."""
    work_on(program, synthetic(1000))()  # compiles, loads
    pages = synthetic(n)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    work, times = work_on(program, pages), []
    for _ in range(repeats):
        begun = time.process_time()
        work()
        times.append(time.process_time() - begun)
    after = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {"seconds": statistics.median(times), "megabytes": (after - before) / 1024}


def cost(args: argparse.Namespace) -> str:
    rows = []
    for program in PROGRAMS:
        smallest = 0.0
        for n in map(int, args.sizes):
            if program == "numerical optimum" and n > MOST_NUMERICAL:
                continue
            note(f"{program}, {n:,} pages")
            command = [sys.executable, __file__, "--one", program, "--sizes", str(n), "--repeats", str(args.repeats)]
            found = json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
            per_page = found["seconds"] / n * 1e9
            smallest = smallest or per_page
            rows.append(
                [program, f"{n:,}", f"{found['seconds']:.3g}", f"{per_page:.0f}", f"{per_page / smallest:.2f}",
                 f"{found['megabytes']:.0f}", f"{found['megabytes'] * 2**20 / n:.0f}"]
            )  # fmt: skip
    head = ["program", "pages", "CPU s", "ns per page", "x the smallest", "MB", "bytes per page"]
    return f"### Cost per page\n\n{markdown(head, rows)}"


def figure_1(args: argparse.Namespace) -> str:
    return "\n\n".join(figure_1_of(utilities) for utilities in ("Zipf(2) on 10,000", "uniform"))


def figure_1_of(utilities: str) -> str:
    others = [name for name in POLICIES if name not in ("optimum", "new algorithm")]
    rows = []
    for bandwidth in (1, 2, 4, 6, 8, 10):
        note(f"{utilities}, bandwidth {bandwidth}")
        optima, columns = [], []
        for seed in range(DATA_SETS):
            pages = data_set(utilities, seed)
            rates = {name: POLICIES[name](pages, bandwidth) for name in POLICIES}
            best = fixed_freshness(pages, rates["optimum"])
            order = Carousel(rates["new algorithm"]).take(SLOTS)
            optima.append(best)
            columns.append(
                [
                    fixed_freshness(pages, rates["new algorithm"]) / best,
                    order_freshness(pages, order, 1 / bandwidth) / best,
                    random_freshness(pages, rates["new algorithm"]) / best,
                    *(fixed_freshness(pages, rates[name]) / best for name in others),
                ]
            )
        rows.append([str(bandwidth), span(optima), *map(span, zip(*columns, strict=True))])
    head = ["bandwidth", "optimum", "new algorithm, eq. 6", "carousel", "random, eq. 5", *others]
    return f"### Fig. 1, utilities {utilities}: freshness, and shares of the optimum\n\n{markdown(head, rows)}"


def data_set(utilities: str, seed: int) -> Pages:
    rng = np.random.default_rng(seed)
    if utilities == "uniform":
        return Pages(rng.random(1000), rng.random(1000))
    values = np.arange(1, 10_001)
    weights = values**-2.0
    return Pages(rng.choice(values, 1000, p=weights / weights.sum()).astype(float), rng.random(1000))


def span(values: Sequence[float]) -> str:
    return f"{min(values):.3f} .. {max(values):.3f}"


def markdown(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    rule = ["---", *["---:"] * (len(head) - 1)]
    return "\n".join(f"| {' | '.join(row)} |" for row in [head, rule, *rows])


def note(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
