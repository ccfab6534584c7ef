"""A program of a user, for the type checker: what is wrong is expected, and `warn_unused_ignores` says if it is not."""

from __future__ import annotations

import replnet as rn

UPDATES = "exponential(rate=1)"
network = rn.cascade(depth=3, branching=2, updates=UPDATES, downloads=["exponential(rate=2)", rn.constant(rate=2)])
rn.emulate(network, engine="live", hosts="per-node", time_scale=0.1)
print(rn.predict(network).table.columns)
rn.cascade(3, updates=rn.pareto(alpha=3, rate=1), downloads={"uniform": {"low": 0, "high": 1}})

rn.cascade(dept=3, updates=UPDATES, downloads=UPDATES)  # type: ignore[call-arg]
rn.cascade(3, updates=1.0, downloads=UPDATES)  # type: ignore[arg-type]
rn.single(updates=UPDATES)  # type: ignore[call-arg]
rn.cooperative(3, updates=UPDATES, downloads=UPDATES, polls=UPDATES, select="newest")  # type: ignore[arg-type]
rn.emulate(network, precison=0.1)  # type: ignore[call-arg]
rn.emulate(network, engine="live", hosts="all")  # type: ignore[arg-type]


def overdue(age: float) -> float:
    return max(age - 1.0, 0.0)


def pair(age: float, other: float, third: float) -> float:
    return age + other + third


result = rn.emulate(network, measure=[overdue, "lag"])
columns: list[str] = list(rn.predict(network, overdue).table.columns)
rn.sweep("p2p/fig3", quick=True).to_xarray().sel(group="level 1")
try:
    rn.law("exponentail(rate=1)")
except rn.InputError as error:
    fields: list[str] = [problem.field for problem in error.problems]

rn.emulate(network, measure=pair)  # type: ignore[arg-type]
rn.emulate(network, measure=5)  # type: ignore[arg-type]
rn.emulate(network, workers="two")  # type: ignore[arg-type]
rn.sweep("p2p/fig3").to_xaray()  # type: ignore[attr-defined]
rn.InputError(3)  # type: ignore[arg-type]
