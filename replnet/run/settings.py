"""The settings of a run in virtual time: all that its result depends on, besides the network."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any, final

from replnet.measure import FEWEST_REPLICATIONS, RESOLUTION
from replnet.run.replications import EVENTS
from replnet.text import FieldError

ESTIMATORS = ("sampled", "conditional")
WAYS_TO_SPLIT = ("source",)


@final
@dataclass(frozen=True)
class Settings:
    """How a network is run: arguments of `emulate`, options of `replnet run`, and the section `run` of an experiment.

    A wrong one raises FieldError with its name. Without an `engine` the fastest that can run the network is meant, and
    without `horizon` or `replications` a default. `horizon` is in units of time, of all replications together;
    `precision` is the largest half-width of every interval of freshness, and `resolution` the half-width above which a
    row counts as unresolved. `measure` names metrics besides freshness, `by` is None or source, and `confirm` is
    whether the run goes on to four times its length, None if only a row that differs makes it.
    """

    engine: str | None = None
    estimator: str = "sampled"
    seed: int = 1
    horizon: float | None = None  # units of time, of all replications together
    precision: float | None = None  # the half-width of every interval of freshness, at most
    replications: int | None = None
    resolution: float = RESOLUTION  # the half-width above which a comparison counts as unresolved
    measure: tuple[str, ...] = ()  # names of metrics besides freshness
    by: str | None = None
    confirm: bool | None = None  # whether the run goes on to four times its length; None: if a row differs

    def __post_init__(self) -> None:
        require_by(self.by)
        if self.engine not in (None, *EVENTS):
            raise FieldError("engine", f"{self.engine!r} is not an engine", " or ".join(EVENTS))
        if self.estimator not in ESTIMATORS:
            raise FieldError("estimator", f"{self.estimator!r} is not an estimator", " or ".join(ESTIMATORS))
        if isinstance(self.seed, bool) or not isinstance(self.seed, int) or self.seed < 0:
            raise FieldError("seed", f"{self.seed!r} is not a whole number of 0 or more", "such as 1")
        whole = isinstance(self.replications, int) and not isinstance(self.replications, bool)
        if self.replications is not None and not (whole and self.replications > 0):
            right = f"a whole number above 0, {FEWEST_REPLICATIONS} or more for intervals"
            raise FieldError("replications", f"{self.replications!r} is not a number of replications", right)
        if not isinstance(self.confirm, bool | None):
            raise FieldError("confirm", f"{self.confirm!r} is neither true nor false", "True, False or None")
        for name in ("horizon", "precision", "resolution"):
            value = getattr(self, name)
            if value is not None and not (
                isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < math.inf
            ):
                raise FieldError(
                    name, f"{value!r} is not a number above 0", "such as 0.01" if name != "horizon" else "such as 1e4"
                )

    def of_cell(self) -> dict[str, Any]:
        """Return the settings of a cell of an experiment, by name, as plain data: all but `by` and `confirm`."""
        return {name: value for name, value in asdict(self).items() if name not in ("by", "confirm")}


def require_by(by: str | None) -> None:
    """Raise FieldError unless `by` is None or one of WAYS_TO_SPLIT."""
    if by not in (None, *WAYS_TO_SPLIT):
        raise FieldError("by", f"{by!r} is not a way to split rows", " or ".join(WAYS_TO_SPLIT))
