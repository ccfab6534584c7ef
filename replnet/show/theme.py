"""The one theme: colours of figures, networks, pages and terminals, and the signs of verdicts.

Series take the colours of Okabe and Ito, which the colour-blind tell apart; an ordered scale takes steps of one hue,
from the weak to the strong against the page.
"""

from __future__ import annotations

FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
SCALE_STEPS = 12  # of the ordered scale
# The weakest, the middle and the strongest shade of the ordered scale, on a light page and on a dark one.
SCALE_SHADES = ("#4d9ccb", "#11699c", "#0b2847"), ("#376f98", "#4fa3d8", "#d6eefc")


def _scale(shades: tuple[str, str, str]) -> list[str]:
    """Return the 12 colours of the ordered scale, evenly from the first shade to the second, and on to the third.

    Shades and colours are #rrggbb.
    """
    parts = [[int(shade[i : i + 2], 16) for i in (1, 3, 5)] for shade in shades]
    steps = []
    for step in range(SCALE_STEPS):
        share = 2 * step / (SCALE_STEPS - 1)
        start, end, share = (parts[0], parts[1], share) if share <= 1 else (parts[1], parts[2], share - 1)
        steps.append("#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in zip(start, end, strict=True)))
    return steps


ORDERED = list(zip(*map(_scale, SCALE_SHADES), strict=True))
SERIES = [  # light page, dark page
    ("#0072b2", "#4aa8e0"),
    ("#d55e00", "#f2813a"),
    ("#009e73", "#2fc596"),
    ("#b8629a", "#dd9cc3"),
    ("#c78400", "#efb536"),
    ("#3a9bd2", "#8ccff5"),
    ("#4c5661", "#c3ccd4"),
    ("#9c8f00", "#e8db4a"),
]
THEME: dict[str, tuple[str, str]] = {
    "paper": ("#ffffff", "#14181d"),
    "ink": ("#1d2731", "#e4e9ed"),
    "quiet": ("#5a6773", "#9ba7b2"),
    "line": ("#dde2e7", "#313a43"),
    "faint": ("#f5f7f9", "#1b2127"),
    "accent": ("#00639c", "#6dbcf0"),
    "good": ("#00694c", "#5fd3ab"),
    "good-ground": ("#e2f3ed", "#12332a"),
    "open": ("#7d5200", "#f0bd55"),
    "open-ground": ("#fcf0d6", "#3a2c10"),
    "bad": ("#a83a00", "#ff9d6b"),
    "bad-ground": ("#fde9df", "#431f10"),
    # Of networks.
    "source": ("#c0392b", "#ef7a6d"),
    "client": ("#d98a0b", "#e8a93d"),
    "peer": ("#2e86ab", "#5fb3d4"),
    "link": ("#8a97a3", "#76828d"),
    **{f"series-{i}": pair for i, pair in enumerate(SERIES)},
    **{f"step-{i}": pair for i, pair in enumerate(ORDERED)},
}
COLOUR_NAMES = {light: name for name, (light, _) in THEME.items()}
# Of charts in the browser, which do not follow the page: each can be seen on a light one and on a dark one.
EITHER_SERIES = ("#2a8fd0", "#dd6b1c", "#0f9d77", "#b9649f", "#b98208", "#7c8791", "#4f6bd8", "#8a8a1e")
EITHER_QUIET, EITHER_GRID, EITHER_BAND = "#7c8791", "rgba(128, 140, 150, 0.28)", "#c2570c"

VERDICTS = {  # whether it is good, open or bad, and its sign
    "agree": ("good", "✓"),
    "unresolved": ("open", "?"),
    "differ": ("bad", "✗"),
    "failed": ("bad", "✗"),
    "contradicts": ("open", "≠"),
}
TERMINAL_COLOURS = {"good": "green", "open": "yellow", "bad": "red"}


def light(name: str) -> str:
    """Return the colour of this name in the theme, as #rrggbb, for a light page."""
    return THEME[name][0]


def shades(count: int) -> list[str]:
    """Return `count` colours of the ordered scale for a light page, as #rrggbb, evenly from the weak to the strong."""
    if count == 1:
        return [ORDERED[SCALE_STEPS // 2][0]]
    return [ORDERED[round(i * (SCALE_STEPS - 1) / (count - 1))][0] for i in range(count)]
