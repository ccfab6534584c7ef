"""Colours in light and in dark, and the style sheet of a page.

Series take the colours of Okabe and Ito, which the colour-blind tell apart; what
is ordered takes steps of one hue, from the weak to the strong against the page.
"""

from __future__ import annotations

from collections.abc import Iterable

STEPS = 12  # of the ordered scale


def _between(start: str, end: str, share: float) -> str:
    pairs = [(int(start[i : i + 2], 16), int(end[i : i + 2], 16)) for i in (1, 3, 5)]
    return "#" + "".join(f"{round(a + share * (b - a)):02x}" for a, b in pairs)


def _steps(start: str, middle: str, end: str) -> list[str]:
    places = [2 * i / (STEPS - 1) for i in range(STEPS)]
    return [_between(start, middle, s) if s <= 1 else _between(middle, end, s - 1) for s in places]


ORDERED = list(zip(_steps("#4d9ccb", "#11699c", "#0b2847"), _steps("#376f98", "#4fa3d8", "#d6eefc"), strict=True))
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
    **{f"series-{i}": pair for i, pair in enumerate(SERIES)},
    **{f"step-{i}": pair for i, pair in enumerate(ORDERED)},
}
NAMES = {light: name for name, (light, _) in THEME.items()}  # of the colours as they are drawn
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"


def light(name: str) -> str:
    return THEME[name][0]


def drawing_rules(names: Iterable[str], dark: bool) -> str:
    """Rules for the classes that pictures use: f- fills, s- strokes."""
    return "".join(f".f-{n}{{fill:{THEME[n][dark]}}}.s-{n}{{stroke:{THEME[n][dark]}}}" for n in sorted(set(names)))


def style_sheet(drawn: Iterable[str]) -> str:
    """The style of a page whose pictures use the colours `drawn`."""
    page = [name for name in THEME if not name.startswith(("series-", "step-"))]
    names = [*page, *sorted(set(drawn) - set(page))]
    light, dark = (";".join(f"--{n}:{THEME[n][mode]}" for n in names) for mode in (0, 1))
    pictures = "".join(f".rn .f-{n}{{fill:var(--{n})}}.rn .s-{n}{{stroke:var(--{n})}}" for n in sorted(set(drawn)))
    # Paper is white whatever the screen is.
    return f".rn{{{light}}}@media screen and (prefers-color-scheme:dark){{.rn{{{dark}}}}}{pictures}{SHEET}"


SHEET = f"""
.rn {{ background: var(--paper); color: var(--ink); font: 400 1rem/1.55 {FONT}; -webkit-text-size-adjust: 100%; }}
.rn * {{ box-sizing: border-box; }}
body.rn {{ margin: 0; }}
div.rn {{ padding: 0.5rem 1rem; max-width: 56rem; }}
.rn .sheet {{ max-width: 62rem; margin: 0 auto; padding: 3rem 1.5rem 4rem; }}
.rn h1, .rn h2, .rn h3 {{ line-height: 1.25; text-wrap: balance; overflow-wrap: anywhere; }}
.rn h1 {{ font-size: 1.9rem; font-weight: 650; letter-spacing: -0.015em; margin: 0 0 0.6rem; }}
.rn h2 {{ font-size: 1.3rem; font-weight: 620; letter-spacing: -0.01em; margin: 0 0 0.5rem; }}
.rn h3 {{ font-size: 0.95rem; font-weight: 620; margin: 1.8rem 0 0.5rem; }}
.rn p {{ margin: 0 0 0.7rem; max-width: 46rem; overflow-wrap: anywhere; }}
.rn a {{ color: var(--accent); text-decoration: none; }}
.rn a:hover {{ text-decoration: underline; }}
.rn a:focus-visible, .rn summary:focus-visible, .rn .scroll:focus-visible {{
  outline: 2px solid var(--accent); outline-offset: 2px; }}
.rn .lead {{ font-size: 1.06rem; }}
.rn .quiet {{ color: var(--quiet); font-size: 0.86rem; }}
.rn section {{ margin-top: 3.2rem; padding-top: 1.6rem; border-top: 1px solid var(--line); }}
div.rn section {{ margin: 0; padding: 0; border: 0; }}
.rn .head {{ display: flex; gap: 0.4rem 1rem; flex-wrap: wrap; color: var(--quiet); font-size: 0.82rem;
  align-items: center; margin-bottom: 0.35rem; }}
.rn .head span {{ overflow-wrap: anywhere; }}
.rn .claim {{ font-size: 1.02rem; }}

.rn .word {{ display: inline-block; border-radius: 0.6rem; padding: 0 0.5rem; font-size: 0.8rem; line-height: 1.7;
  font-weight: 550; white-space: nowrap; border: 1px solid var(--line); color: var(--quiet); }}
.rn .good {{ color: var(--good); background: var(--good-ground); border-color: transparent; }}
.rn .open {{ color: var(--open); background: var(--open-ground); border-color: transparent; }}
.rn .bad {{ color: var(--bad); background: var(--bad-ground); border-color: transparent; }}

.rn .scroll {{ overflow-x: auto; margin: 0.4rem 0 1rem; }}
.rn table {{ color: inherit; border-collapse: collapse; font-size: 0.86rem; line-height: 1.4;
  font-variant-numeric: tabular-nums; }}
.rn caption {{ text-align: left; color: var(--quiet); padding: 0 0 0.4rem; caption-side: top; }}
.rn th, .rn td {{ padding: 0.28rem 0.6rem; text-align: left; vertical-align: baseline; background: none; }}
.rn th:first-child, .rn td:first-child {{ padding-left: 0; }}
.rn thead th {{ font-weight: 550; color: var(--quiet); border-bottom: 1px solid var(--quiet); white-space: nowrap;
  vertical-align: bottom; }}
.rn tbody tr {{ border-bottom: 1px solid var(--line); background: none !important; }}
.rn tbody td {{ white-space: nowrap; }}
.rn .n {{ text-align: right; }}
.rn td.w, .rn .summary td {{ white-space: normal; }}
.rn td.w {{ min-width: 11rem; max-width: 24rem; color: var(--quiet); }}
.rn td .word {{ font-size: 0.95em; line-height: inherit; }}
.rn td .good, .rn td .word:not([class*=" "]) {{ background: none; border: 0; padding: 0; }}
.rn td .bad, .rn td .open {{ margin-left: -0.5rem; }}
.rn ol {{ font-size: 0.86rem; color: var(--quiet); margin: -0.4rem 0 1rem; padding-left: 1.4rem; max-width: 46rem; }}
.rn ol li {{ padding: 0.1rem 0; border: 0; }}
.rn .summary {{ width: 100%; font-size: 0.9rem; }}
.rn .summary td {{ padding-top: 0.5rem; padding-bottom: 0.5rem; }}
.rn .summary .quiet {{ display: block; }}
.rn .summary .n {{ white-space: nowrap; text-align: left; }}
.rn .summary td.n, .rn .summary th.n {{ text-align: right; }}

.rn figure {{ margin: 1.2rem 0 1rem; max-width: 52rem; }}
.rn figure svg {{ display: block; width: 100%; height: auto; }}
.rn .narrow {{ display: none; }}
.rn figcaption {{ color: var(--quiet); font-size: 0.86rem; margin-top: 0.5rem; max-width: 46rem; }}

.rn ul {{ list-style: none; margin: 0.3rem 0 1rem; padding: 0; max-width: 46rem; }}
.rn li {{ padding: 0.4rem 0; border-bottom: 1px solid var(--line); overflow-wrap: anywhere; }}
.rn li:last-child {{ border: 0; }}
.rn li .verdicts {{ display: flex; flex-wrap: wrap; gap: 0.3rem 0.6rem; margin-top: 0.2rem; font-size: 0.86rem; }}
.rn .aside {{ border-left: 3px solid var(--open); padding: 0.1rem 0 0.1rem 1rem; margin: 1.2rem 0; }}
.rn .aside h3 {{ margin-top: 0; }}
.rn details {{ margin: 0.6rem 0; }}
.rn summary {{ cursor: pointer; color: var(--accent); font-size: 0.9rem; }}
.rn dl {{ display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 0.15rem 1.2rem; margin: 0.6rem 0;
  font-size: 0.86rem; }}
.rn dt {{ color: var(--quiet); width: auto; }}
.rn dd {{ margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }}
.rn pre {{ font: 0.8rem/1.5 ui-monospace, 'SF Mono', Consolas, 'DejaVu Sans Mono', monospace; margin: 0;
  white-space: pre-wrap; overflow-wrap: anywhere; background: var(--faint); color: inherit; padding: 0.5rem 0.7rem; }}
.rn nav {{ display: none; }}

@media screen and (min-width: 84rem) {{
  body.rn {{ display: grid; grid-template-columns: 17rem minmax(0, 62rem); justify-content: center; }}
  .rn nav {{ display: block; position: sticky; top: 0; align-self: start; max-height: 100vh; overflow-y: auto;
    padding: 3.2rem 0 2rem 1rem; font-size: 0.84rem; line-height: 1.4; }}
  .rn nav a {{ color: var(--quiet); display: block; padding: 0.22rem 0; }}
  .rn nav a:hover {{ color: var(--ink); }}
}}
@media screen and (max-width: 40rem) {{
  .rn .sheet {{ padding: 1.5rem 1rem 3rem; }}
  .rn h1 {{ font-size: 1.5rem; }}
  .rn .wide {{ display: none; }}
  .rn .narrow {{ display: block; max-width: 26rem; }}
  .rn .summary thead {{ display: none; }}
  .rn .summary tr {{ display: block; padding: 0.6rem 0; }}
  .rn .summary td {{ display: inline-block; padding: 0 0.8rem 0 0; text-align: left; }}
  .rn .summary td:first-child {{ display: block; padding: 0 0 0.3rem; }}
  .rn .summary td[data-what]::after {{ content: " " attr(data-what); color: var(--quiet); }}
  .rn dl {{ grid-template-columns: minmax(0, 1fr); }}
  .rn dd {{ margin-bottom: 0.4rem; }}
}}
@media print {{
  @page {{ margin: 16mm; }}
  body.rn {{ font-size: 10pt; }}
  .rn, .rn .word {{ -webkit-print-color-adjust: exact; print-color-adjust: exact; }}
  .rn .sheet {{ max-width: none; padding: 0; }}
  .rn section {{ margin-top: 1.5rem; padding-top: 1rem; }}
  .rn a {{ color: inherit; }}
  .rn figure, .rn tr, .rn li, .rn .aside {{ break-inside: avoid; }}
  .rn figure {{ max-width: 14cm; }}
  .rn h2, .rn h3, .rn .head, .rn .claim, .rn section > .quiet, .rn summary {{ break-after: avoid; }}
  .rn .scroll {{ overflow: visible; }}
  .rn table {{ font-size: 7.5pt; }}
  .rn th, .rn td {{ padding: 0.15rem 0.4rem; }}
  .rn details::details-content {{ content-visibility: visible; display: block; }}
  .rn summary {{ list-style: none; color: var(--quiet); }}
}}
"""
