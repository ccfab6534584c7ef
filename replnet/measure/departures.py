"""The departure of a copy: when it left its source, or one of three numbers that say why there is no such instant.

They are below all instants, in this order, so that the largest of departures is always the freshest copy:

    NOT_HELD     no copy is held
    NEVER_CAME   there is room for a copy, but none ever came: it is infinitely old
    UNKNOWN      the copy is from before the replayed past, and so older than anybody knows

Every real departure is FLOOR or later.
"""

from __future__ import annotations

import math
import sys

import numpy as np

from replnet.laws import Flags, Floats

NOT_HELD = -math.inf
NEVER_CAME = -sys.float_info.max
UNKNOWN = math.nextafter(NEVER_CAME, 0.0)
FLOOR = UNKNOWN / 2


def held_mask(departures: Floats) -> Flags:
    """Return a mask: True for each departure but the mark NOT_HELD, so also for copies of unknown age or never come."""
    return np.asarray(departures != NOT_HELD)


def known_mask(departures: Floats) -> Flags:
    """Return a mask: True for each departure that is an instant, False for each mark that says why there is none."""
    return np.asarray(departures >= FLOOR)


def never_came(departures: Floats) -> Flags:
    """Return a mask: True for each departure that is the mark NEVER_CAME, of a copy that never came."""
    return np.asarray(departures == NEVER_CAME)


def marked_unknown(departures: Floats, past_begins: float) -> Floats:
    """Return the departures with UNKNOWN in place of each that equals `past_begins`, the begin of the replayed past.

    Engines take that instant for all copies from before it, whose age nobody knows.
    """
    return np.where(departures == past_begins, UNKNOWN, departures)
