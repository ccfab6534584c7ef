"""Pictures of networks, with matplotlib."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, final

from replnet.network import Network
from replnet.show.pictures.forest import NodeCrowd, Point
from replnet.show.pictures.positions import Placement, layout
from replnet.show.pictures.svg import figure_svg, matplotlib_settings, write_picture
from replnet.show.theme import light, shades
from replnet.text import count_text, file_path, printable

MOST_LABELS = 45  # names in a picture that is not in rows
MOST_IN_ROW = 28  # names in one row
MOST_CHORDS = {"peer": 14, "query": 40}  # members of a pool that lines are drawn to
MOST_ARROWS = 200  # links of a picture whose arrows can be told apart
MOST_IN_FAN = 60  # downloads from one node across a map
MOST_CROWDS_DESCRIBED = 4  # crowds of a picture whose labels say more than their number of nodes
MOST_GROUPS = 12  # in the legend
LONGEST_NAME, LONGEST_TITLE = 40, 80  # letters
SMALLEST = (6.4, 3.2)  # inches

MARKERS = {"source": "s", "replica": "o", "client": "D"}
LINES: dict[str, dict[str, Any]] = {
    "download": {"color": light("link"), "linewidth": 0.9, "linestyle": "-"},
    "peer": {"color": light("peer"), "linewidth": 0.6, "linestyle": "-", "alpha": 0.6},
    "query": {"color": light("client"), "linewidth": 0.8, "linestyle": (0, (4, 3)), "alpha": 0.7},
}
ASKER_ROLES = {"download": "", "peer": "replica", "query": "client"}  # the role of nodes that ask a pool, by kind
# A dollar in a name starts no formula, and the legend stands beside the axes.
SETTINGS = {"text.parse_math": False, "savefig.bbox": "tight"}
WORDS = {"download": "downloads", "peer": "polls", "query": "queries"}
FLOW = {"rows": "data flows down", "circle": "data flows outwards", "map": "data flows from the source"}

End = str | NodeCrowd


def draw(network: Network, path: str | Path) -> None:
    """Write the picture of a network as PNG, SVG or PDF, by the ending of `path`, over a file that is there.

    Raise FieldError for another ending.
    """
    write_picture(file_path("file", path), lambda: figure(network), title(network), **SETTINGS)


def svg(network: Network) -> str:
    """Return the picture of a network as text: an <svg> element in which words are text, on a background of its own.

    It has a label for readers who cannot see it.
    """
    with matplotlib_settings(**SETTINGS):
        return figure_svg(figure(network), "network-", title(network), transparent=False)


def title(network: Network) -> str:
    """Return the title of the picture: the title or the name of the network, and its number of nodes."""
    named = printable(network.spec.title or network.name, LONGEST_TITLE)
    return f"{named}: {count_text(network.size, 'node')}"


def figure(network: Network) -> Any:
    """Return the picture of a network as a matplotlib Figure, with a title and a legend; one unit of its axes is an
    inch.
    """
    from matplotlib.figure import Figure

    graph, plan = network.graph, layout(network.graph)
    sides = max(SMALLEST[0], plan.size[0] + 0.8), max(SMALLEST[1], plan.size[1] + 0.8)
    result = Figure(figsize=sides)
    axes = result.add_axes((0, 0, 1, 1))
    axes.set_axis_off()
    # One unit is an inch, so that no picture is stretched.
    margins = [(side - room) / 2 for side, room in zip(plan.size, sides, strict=True)]
    axes.set_xlim(margins[0], margins[0] + sides[0])
    axes.set_ylim(margins[1], margins[1] + sides[1])
    page = _Page(axes, graph, plan.in_inches, _colours(graph))
    legend = _draw_links(page)
    _draw_crowds(page)
    _draw_nodes(page)
    _draw_labels(page)
    _draw_legend(page, legend)
    axes.set_title(title(network), fontsize=11, color=light("ink"), loc="left")
    return result


@final
@dataclass(frozen=True, slots=True)
class _Page:
    """A picture that is being drawn: matplotlib's axes, the graph, where its nodes stand, and colours by group.

    Places are in inches.
    """

    axes: Any
    graph: Any
    plan: Placement
    colours: dict[str, Any]

    @property
    def single(self) -> dict[str, Point]:
        """The places of the nodes that belong to no crowd."""
        crowded = {name for crowd in self.plan.crowds for name in crowd.names}
        return {name: place for name, place in self.plan.places.items() if name not in crowded}


def _links(page: _Page) -> Iterator[tuple[End, End, str]]:
    """Yield each line of the picture once, as (upstream, downstream, kind): links, and pulls within small pools.

    An end is the name of a node, or the crowd that it belongs to; `kind` is download, peer or query.
    """
    ends: dict[str, End] = {name: name for name in page.plan.places}
    for crowd in page.plan.crowds:
        ends |= dict.fromkeys(crowd.names, crowd)
    pools = {
        pool: list(dict.fromkeys(ends[name] for name in names if name in ends))
        for pool, names in page.graph.graph["pools"].items()
    }
    lines: dict[tuple[End, End, str], None] = {}
    for upstream, downstream, kind in page.graph.edges(data="kind"):
        if upstream in ends and downstream in ends:
            lines[ends[upstream], ends[downstream], kind] = None
    for name, end in ends.items():
        node = page.graph.nodes[name]
        kind = "query" if node["role"] == "client" else "peer"
        members = pools.get(node.get("pool"), [])
        if len(members) <= MOST_CHORDS[kind]:
            lines |= dict.fromkeys((other, end, kind) for other in members)
    yield from (link for link in lines if link[0] != link[1])


def _draw_links(page: _Page) -> dict[str, str]:
    """Draw the links, and arrows where data flows otherwise than the legend says.

    Return the legend's text for each kind of link that is in the picture.
    """
    from matplotlib.collections import LineCollection

    links = list(_links(page))
    fans = Counter(upstream for upstream, _, kind in links if kind == "download")
    legend = {kind: WORDS[kind] for *_, kind in links}
    if "download" in legend:
        legend["download"] += f": {FLOW[page.plan.shape]}"
    for kind in legend:
        paths = []
        for upstream, downstream, _ in (link for link in links if link[2] == kind):
            # Across a map the links of one source to all would hide the others.
            if page.plan.shape == "map" and kind == "download" and fans[upstream] > MOST_IN_FAN:
                legend[kind] = f"{WORDS[kind]}: those from {upstream} are not drawn"
                continue
            start, end = _ends(page.plan, upstream, downstream)
            paths.append(_path(start, end, page.plan.shape != "rows"))
            if kind == "download" and len(links) <= MOST_ARROWS and _against(page, upstream, start, end):
                _arrow(page, paths[-1])
                legend[kind] = f"{WORDS[kind]}: {FLOW[page.plan.shape]}, or along an arrow"
        page.axes.add_collection(LineCollection(paths, zorder=1 if kind == "download" else 0, **LINES[kind]))
    return legend


def _against(page: _Page, upstream: End, start: Point, end: Point) -> bool:
    """Whether data flows along a link from `start` to `end` otherwise than the legend says.

    The legend says downwards, of rows, and from the source, of a map, where sources have no position. On a circle the
    answer is no.
    """
    if page.plan.shape == "rows":
        return end[1] >= start[1]
    node = page.graph.nodes[upstream]
    return page.plan.shape == "map" and ("position" in node or node["role"] != "source")


def _arrow(page: _Page, path: list[Point]) -> None:
    """Draw an arrow head near the middle of the path of a link, which has two points or those of an arc."""
    middle = path[8] if len(path) > 2 else _between(path[0], path[-1], 0.6)
    style = {"arrowstyle": "-|>", "color": light("link")}
    page.axes.annotate("", middle, _between(path[0], middle, 0.9), arrowprops=style, zorder=2)


def _ends(plan: Placement, upstream: End, downstream: End) -> tuple[Point, Point]:
    """Return the points where a link begins and ends: the places of two nodes, in the unit of `plan`.

    At a crowd, it is the middle of the nearer of its top and bottom.
    """
    middles = [end.top if isinstance(end, NodeCrowd) else plan.places[end] for end in (upstream, downstream)]
    points = []
    for end, middle, other in zip((upstream, downstream), middles, middles[::-1], strict=True):
        points.append(end.bottom if isinstance(end, NodeCrowd) and other[1] < middle[1] else middle)
    return points[0], points[1]


def _between(start: Point, end: Point, share: float) -> Point:
    """Return the point at this share of the way from `start` to `end`."""
    return (start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1]))


def _path(start: Point, end: Point, straight: bool) -> list[Point]:
    """Return the points of a line from `start` to `end`: these two if `straight`, or if they are in different rows.

    Between nodes of one row it is an arc of 17 points, as other nodes would hide a straight line.
    """
    if straight or start[1] != end[1] or start == end:
        return [start, end]
    (x0, y), (x1, _) = start, end
    depth = min(0.55, 0.35 * abs(x1 - x0))
    return [(x0 + (x1 - x0) * i / 16, y - 4 * depth * (i / 16) * (1 - i / 16)) for i in range(17)]


def _colours(graph: Any) -> dict[str, str]:
    """Return a colour, as #rrggbb, for every group by name; those of replicas go from dark to light down the levels."""
    roles = {node["group"]: node["role"] for _, node in graph.nodes(data=True)}
    replicas = [group for group, role in roles.items() if role == "replica" and group != "unreached"]
    levels = dict(zip(replicas, reversed(shades(len(replicas))), strict=True))
    fixed = {"source": light("source"), "client": light("client")}
    return {group: fixed.get(role) or levels.get(group, light("link")) for group, role in roles.items()}


def _draw_crowds(page: _Page) -> None:
    """Draw crowds with their numbers of nodes: as boxes, filled if their nodes are too many for dots, or as bands."""
    from matplotlib.patches import Rectangle

    few = len(page.plan.crowds) <= MOST_CROWDS_DESCRIBED
    for crowd in page.plan.crowds:
        left, low, right, _ = crowd.box
        node = page.graph.nodes[crowd.names[0]]
        shapes = [(crowd.box, page.colours[node["group"]])]
        if crowd.names[0] in page.plan.places:
            shapes = [(crowd.box, light("faint"))]
        elif crowd.bands:
            shapes = [*_bands(crowd, page.colours)]
        for (west, south, east, north), fill in shapes:
            box = Rectangle((west, south), east - west, north - south)
            box.set(
                facecolor=fill, edgecolor=light("link" if fill == light("faint") else "paper"), linewidth=0.5, zorder=2
            )
            page.axes.add_patch(box)
        label = f"{len(crowd.names):,}"
        if few and crowd.bands:
            label += " nodes below"
        elif few:
            polling = ", who poll one another" if "polls" in node and node["role"] == "replica" else ""
            label += f" {node['role']}s{polling}"
        narrow = right - left < 0.06 * len(label)
        if narrow or crowd.bands:
            _write(page, label, crowd.bottom, (0, -3), ha="center", va="top", rotation=90 if narrow and not few else 0)
        else:
            _write(page, label, (left, low), (0, -3), ha="left", va="top")


def _bands(crowd: NodeCrowd, colours: dict[str, Any]) -> Iterator[tuple[tuple[float, float, float, float], Any]]:
    """Yield (box, colour) of every band of a subtree, from the top down, as wide as the level is large.

    A box is left, low, right and high; `colours` are those of groups.
    """
    left, low, right, high = crowd.box
    most, tall = max(count for _, count in crowd.bands), (high - low) / len(crowd.bands)
    for at, (group, count) in enumerate(crowd.bands):
        half = max((right - left) * count / most, 0.015) / 2
        middle = (left + right) / 2
        yield (middle - half, high - (at + 1) * tall, middle + half, high - at * tall), colours[group]


def _draw_nodes(page: _Page) -> None:
    """Draw the nodes that have a place as dots, with a marker for each role, and those of crowds as small as they
    fit.
    """
    single = page.single
    size = 900 / max(9.0, min(110.0, len(single) ** 0.8))
    for role, marker in MARKERS.items():
        names = [name for name in single if page.graph.nodes[name]["role"] == role]
        # The source stands out among many replicas.
        _dots(page, names, marker, max(size, 90) if role != "replica" else size)
    for crowd in page.plan.crowds:
        left, low, right, high = crowd.box
        pitch = ((right - left) * (high - low) / len(crowd.names)) ** 0.5
        names = [name for name in crowd.names if name in page.plan.places]
        _dots(page, names, MARKERS[page.graph.nodes[crowd.names[0]]["role"]], (0.6 * 72 * pitch) ** 2)


def _dots(page: _Page, names: Iterable[str], marker: str, area: float) -> None:
    """Draw these nodes as dots in the colours of their groups, as this marker of matplotlib.

    `area` is that of a dot, in square points.
    """
    if not names:
        return
    xs, ys = zip(*(page.plan.places[name] for name in names), strict=True)
    fill = [page.colours[page.graph.nodes[name]["group"]] for name in names]
    edge = {"edgecolors": "white", "linewidths": 0.7 if area > 20 else 0.2}
    page.axes.scatter(xs, ys, s=area, c=fill, marker=marker, zorder=3, **edge)


def _draw_labels(page: _Page) -> None:
    """Write the names of nodes that belong to no crowd, where they have room; those of replicas as numbers."""
    single, plan = page.single, page.plan
    rows = Counter(y for _, y in single.values())
    for name, (x, y) in single.items():
        if len(single) > MOST_LABELS and (plan.shape != "rows" or rows[y] > MOST_IN_ROW):
            continue
        short = name.removeprefix("replica ") if page.graph.nodes[name]["role"] == "replica" else name
        turned = plan.shape == "rows" and rows[y] > MOST_IN_ROW / 2
        shift = _outwards(x, y, page) if plan.shape == "circle" else (0.0, -8.0)
        sideways = "left" if shift[0] > 4 else "right" if shift[0] < -4 else "center"
        upright = "center" if plan.shape == "circle" else "top"
        label = printable(short, LONGEST_NAME)
        _write(page, label, (x, y), shift, ha=sideways, va=upright, rotation=90 if turned else 0)


def _write(page: _Page, words: str, place: Point, shift: Point, **style: Any) -> None:
    """Write words beside a place; `shift` is how far to the right and up, in points.

    `style` has more options of matplotlib for the text.
    """
    box = {"boxstyle": "round,pad=0.1", "facecolor": "white", "edgecolor": "none", "alpha": 0.75}
    page.axes.annotate(
        words,
        place,
        xytext=shift,
        textcoords="offset points",
        fontsize=7,
        color=light("ink"),
        zorder=4,
        bbox=box,
        **style,
    )


def _outwards(x: float, y: float, page: _Page) -> Point:
    """Return how far, in points to the right and up, the label of a node at (x, y) is to stand from it.

    It stands outside of the picture's circle; below the node if that is in the middle of the circle.
    """
    ring = [place for name, place in page.single.items() if page.graph.nodes[name]["role"] == "replica"]
    middle = [(min(axis) + max(axis)) / 2 for axis in zip(*ring, strict=True)]
    dx, dy = x - middle[0], y - middle[1]
    length = (dx * dx + dy * dy) ** 0.5
    return (9 * dx / length, 10 * dy / length) if length > 0.5 else (0.0, -13.0)


def _draw_legend(page: _Page, links: dict[str, str]) -> None:
    """Draw the legend: groups with their numbers of nodes, and kinds of links.

    `links` has the text of each kind that is in the picture; others that the network has are said not to be drawn.
    """
    from matplotlib.lines import Line2D

    graph, colours = page.graph, page.colours
    counts = Counter(group for _, group in graph.nodes(data="group"))
    roles = {node["group"]: node["role"] for _, node in graph.nodes(data=True)}
    handles: list[Any] = []
    for group in list(colours)[:MOST_GROUPS]:
        style = {"marker": MARKERS[roles[group]], "markersize": 7, "linestyle": "none", "color": colours[group]}
        count = f" ({counts[group]:,})" if counts[group] > 1 else ""
        label = f"{printable(group, LONGEST_NAME)}{count}"
        handles.append(Line2D([], [], label=label, markeredgecolor="white", **style))

    def add_line(label: str, **style: Any) -> None:
        handles.append(Line2D([], [], label=label, **({"linestyle": "none"} | style)))

    if len(colours) > MOST_GROUPS:
        add_line(f"... {len(colours) - MOST_GROUPS} more groups")
    for kind, line in LINES.items():
        pooled = any("pool" in node and node["role"] == ASKER_ROLES[kind] for _, node in graph.nodes(data=True))
        if kind in links:
            add_line(printable(links[kind], LONGEST_TITLE), **line)
        elif pooled:
            add_line(f"{WORDS[kind]}: not drawn")
    if any(crowd.bands for crowd in page.plan.crowds):
        add_line("nodes below, with their number: a band per level,\nas wide as the level is large")
    page.axes.legend(
        handles=handles,
        loc="center left",
        bbox_to_anchor=(1.01, 0.5),
        frameon=False,
        fontsize=8,
        labelcolor=light("ink"),
    )
