"""Pictures of networks, with matplotlib."""

from __future__ import annotations

import errno
import io
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from replnet.network.network import Network
from replnet.network.pictures.layout import Layout, Point, layout
from replnet.text.errors import InputError, Problem, printable
from replnet.text.extras import require_extra

FORMATS = ("png", "svg", "pdf")
MOST_LABELS = 45
MOST_IN_ROW = 28  # names in one row
MOST_CHORDS = {"peer": 14, "query": 40}  # replicas of a pool that lines are drawn to
MOST_GROUPS = 12  # in the legend
LONGEST_NAME, LONGEST_TITLE = 40, 80  # letters

INK, QUIET, SOURCE, CLIENT = "#22303c", "#8a97a3", "#c0392b", "#e08e0b"
MARKERS = {"source": "s", "replica": "o", "client": "D"}
LINES: dict[str, dict[str, Any]] = {
    "download": {"color": QUIET, "linewidth": 0.9, "linestyle": "-"},
    "peer": {"color": "#2e86ab", "linewidth": 0.6, "linestyle": "-", "alpha": 0.45},
    "query": {"color": CLIENT, "linewidth": 0.8, "linestyle": (0, (4, 3)), "alpha": 0.7},
}
ROLES = {"download": "", "peer": "replica", "query": "client"}  # who draws from pools
FONT = "DejaVu Sans"  # which matplotlib brings
PLAIN = {"text.parse_math": False}  # a dollar in a name starts no formula
WORDS = {"download": "downloads", "peer": "polls", "query": "queries"}


def draw(network: Network, path: str | Path) -> None:
    """Write the picture of a network as PNG, SVG or PDF, by the ending of `path`."""
    kind = Path(path).suffix.lower().removeprefix(".")
    if kind not in FORMATS:
        right = f"a file that ends in {', '.join(f'.{one}' for one in FORMATS)}"
        raise InputError([Problem(None, None, None, "file", f"{path} is no kind of picture", right)])
    try:
        save(lambda: figure(network), path, kind, PLAIN, bbox_inches="tight")
    except OSError as error:
        wrong = f"cannot be written: {error.strerror or error}"
        right = "a place with room for it" if error.errno == errno.ENOSPC else "a directory that exists"
        raise InputError([Problem(str(path), None, None, "file", wrong, right)]) from None


def svg(network: Network) -> str:
    """The picture as an <svg> element."""
    buffer = io.StringIO()
    save(lambda: figure(network), buffer, "svg", PLAIN, bbox_inches="tight")
    text = buffer.getvalue()
    return text[text.index("<svg") :]


def save(make: Callable[[], Any], target: Any, kind: str, style: dict[str, Any], **how: Any) -> None:
    """Write the matplotlib Figure that `make` makes, which finds `style` in force; the same gives the same bytes."""
    require_extra("matplotlib", "pictures")
    from matplotlib import rc_context

    settings: Any = {"svg.hashsalt": "replnet", "font.family": FONT, **style}
    metadata = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind)
    with rc_context(settings), warnings.catch_warnings():
        # A letter that the font lacks is drawn as a box.
        warnings.filterwarnings("ignore", message=r"Glyph \d+ .* missing from")
        make().savefig(target, format=kind, dpi=150, metadata=metadata, facecolor="white", **how)


def has_font() -> bool:
    """Whether matplotlib finds the font of the pictures, and not another in its place."""
    from matplotlib.font_manager import findfont

    try:
        findfont(FONT, fallback_to_default=False)
    except ValueError:
        return False
    return True


def figure(network: Network) -> Any:
    """A matplotlib Figure."""
    from matplotlib.figure import Figure

    graph, plan = network.graph, layout(network.graph)
    rows = Counter(y for _, y in plan.places.values())
    wide, high = min(16.0, max(6.4, 0.16 * max(rows.values()))), min(9.0, max(3.2, 1.15 * len(rows)))
    made = Figure(figsize=(6.4, 6.4) if plan.round else (wide, high))
    axes = made.add_axes((0.03, 0.03, 0.94, 0.94))
    axes.set_axis_off()
    axes.margins(0.06)
    if plan.round:
        axes.set_aspect("equal")
    kinds = _draw_edges(axes, graph, plan)
    colours = _colours(graph, plan)
    _draw_nodes(axes, graph, plan, colours)
    _draw_labels(axes, graph, plan, rows)
    _legend(axes, graph, colours, kinds)
    shown, nodes = f"{len(plan.places):,} of " if plan.left_out else "", f"{graph.number_of_nodes():,} nodes"
    title = f"{printable(network.spec.title or network.name, LONGEST_TITLE)}: {shown}{nodes}"
    title += f", {plan.left_out:,} left out" if plan.left_out else ""
    axes.set_title(title, fontsize=11, color=INK, loc="left")
    return made


def _edges(graph: Any, plan: Layout) -> Iterator[tuple[str, str, str]]:
    """Edges between nodes of the picture, and those that small pools stand for."""
    for upstream, downstream, kind in graph.edges(data="kind"):
        if upstream in plan.places and downstream in plan.places:
            yield upstream, downstream, kind
    for name in plan.places:
        node = graph.nodes[name]
        members = graph.graph["pools"].get(node.get("pool"), ())
        kind = "query" if node["role"] == "client" else "peer"
        if len(members) <= MOST_CHORDS[kind]:
            yield from ((other, name, kind) for other in members if other != name and other in plan.places)


def _draw_edges(axes: Any, graph: Any, plan: Layout) -> set[str]:
    from matplotlib.collections import LineCollection

    kinds: dict[str, list[Any]] = {}
    for upstream, downstream, kind in _edges(graph, plan):
        start, end = plan.places[upstream], plan.places[downstream]
        path = _path(start, end, plan.round)
        kinds.setdefault(kind, []).append(path)
        # Data flows down the page; where it does not, an arrow says so.
        if kind == "download" and end[1] >= start[1] and not plan.round and len(plan.places) <= MOST_LABELS:
            middle = path[8] if len(path) > 2 else _between(start, end, 0.55)
            before = _between(start, middle, 0.9)
            axes.annotate("", middle, before, arrowprops={"arrowstyle": "-|>", "color": QUIET}, zorder=2)
    for kind, lines in kinds.items():
        axes.add_collection(LineCollection(lines, zorder=1 if kind == "download" else 0, **LINES[kind]))
    return set(kinds)


def _between(start: Point, end: Point, share: float) -> Point:
    return (start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1]))


def _path(start: Point, end: Point, straight: bool) -> list[Point]:
    """Straight, or an arc between nodes of one row, which would hide behind those between them."""
    if straight or start[1] != end[1] or start == end:
        return [start, end]
    (x0, y), (x1, _) = sorted((start, end))
    depth = min(0.12, 0.35 * (x1 - x0))
    return [(x0 + (x1 - x0) * i / 16, y - 4 * depth * (i / 16) * (1 - i / 16)) for i in range(17)]


def _colours(graph: Any, plan: Layout) -> dict[str, Any]:
    """A colour for every group of the picture; replicas from dark to light down the levels."""
    from matplotlib import colormaps

    roles = {node["group"]: node["role"] for name, node in graph.nodes(data=True) if name in plan.places}
    replicas = [group for group, role in roles.items() if role == "replica" and group != "unreached"]
    shades = colormaps["viridis"]
    colours: dict[str, Any] = {"unreached": QUIET}
    for place, group in enumerate(replicas):
        colours[group] = shades(0.2 + 0.6 * place / max(1, len(replicas) - 1))
    fixed = {"source": SOURCE, "client": CLIENT}
    return {group: fixed.get(role, colours.get(group)) for group, role in roles.items()}


def _draw_nodes(axes: Any, graph: Any, plan: Layout, colours: dict[str, Any]) -> None:
    size = 900 / max(9.0, min(26.0, len(plan.places) ** 0.8))
    for role, marker in MARKERS.items():
        names = [name for name in plan.places if graph.nodes[name]["role"] == role]
        if names:
            xs, ys = zip(*(plan.places[name] for name in names), strict=True)
            fill = [colours[graph.nodes[name]["group"]] for name in names]
            # The source stands out among many replicas.
            area = max(size, 90) if role != "replica" else size
            axes.scatter(xs, ys, s=area, c=fill, marker=marker, edgecolors="white", linewidths=0.7, zorder=3)


def _draw_labels(axes: Any, graph: Any, plan: Layout, rows: Counter[float]) -> None:
    """Names, where they have room."""
    for name, (x, y) in plan.places.items():
        if len(plan.places) > MOST_LABELS and (plan.round or rows[y] > MOST_IN_ROW):
            continue
        short = name.removeprefix("replica ") if graph.nodes[name]["role"] == "replica" else name
        short = printable(short, LONGEST_NAME)
        turned = not plan.round and rows[y] > MOST_IN_ROW / 2
        shift = _outwards(x, y, plan) if plan.round else (0.0, -8.0)
        sideways = "left" if shift[0] > 4 else "right" if shift[0] < -4 else "center"
        style = {"ha": sideways, "va": "center" if plan.round else "top", "rotation": 90 if turned else 0}
        box = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}
        axes.annotate(
            short, (x, y), xytext=shift, textcoords="offset points", fontsize=7, color=INK, zorder=4, bbox=box, **style
        )


def _outwards(x: float, y: float, plan: Layout) -> tuple[float, float]:
    """Where a label on the circle stands free of the lines; in points."""
    ys = [place[1] for place in plan.places.values() if place[1] > 0]
    dx, dy = x - 0.5, y - (min(ys) + max(ys)) / 2
    length = (dx * dx + dy * dy) ** 0.5
    return (9 * dx / length, 10 * dy / length) if length > 0.1 else (0.0, -13.0)


def _legend(axes: Any, graph: Any, colours: dict[str, Any], kinds: set[str]) -> None:
    from matplotlib.lines import Line2D

    counts = Counter(group for _, group in graph.nodes(data="group"))
    roles = {node["group"]: node["role"] for _, node in graph.nodes(data=True)}
    handles: list[Any] = []
    for group in list(colours)[:MOST_GROUPS]:
        style = {"marker": MARKERS[roles[group]], "markersize": 7, "linestyle": "none", "color": colours[group]}
        count = f" ({counts[group]:,})" if counts[group] > 1 else ""
        handles.append(
            Line2D([], [], label=f"{printable(group, LONGEST_NAME)}{count}", markeredgecolor="white", **style)
        )
    if len(colours) > MOST_GROUPS:
        handles.append(Line2D([], [], linestyle="none", label=f"... {len(colours) - MOST_GROUPS} more groups"))
    for kind, line in LINES.items():
        pooled = any("pool" in node and node["role"] == ROLES[kind] for _, node in graph.nodes(data=True))
        if kind in kinds:
            handles.append(Line2D([], [], label=WORDS[kind], **line))
        elif pooled:
            handles.append(Line2D([], [], linestyle="none", label=f"{WORDS[kind]}: not drawn"))
    axes.legend(
        handles=handles, loc="center left", bbox_to_anchor=(1.01, 0.5), frameon=False, fontsize=8, labelcolor=INK
    )
