"""The command watch: visits a source and its replicas, and records which version each had when."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, final

import click

from replnet.cli.main import FINE, INCOMPLETE, commands
from replnet.cli.output import echo, print_table
from replnet.cli.progress import live_display
from replnet.show import Table
from replnet.text import count_text, duration, escape_unprintable, require_extra, span

if TYPE_CHECKING:
    from replnet.watch import Fleet, Visit

LONGEST_VERSION_SHOWN = 32  # letters
HEADS = ("node", "version", "since", "visits", "faults", "last fault")


@commands.command()
@click.argument("file", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path),
              help="The history, an SQLite file to which visits are added.  [default: FILE with .sqlite]")  # fmt: skip
@click.option("--once", is_flag=True, help="Visit every node once and end, for cron.")
def watch(file: Path, output: Path | None, once: bool) -> int:
    """Visit the nodes that FILE names, and record their versions.

    They are visited again and again, and the record says which version each had when. FILE is YAML: `nodes` by name,
    each with a url, a zone and server, a git remote, a file or a command; `source`, the node that the others copy;
    `every`, the time between two visits; `gap`, the least time between two visits of a host; `timeout` and `retries`.
    Nothing else is visited. The history is for `replnet observe`. Ctrl-C ends the
    watch, and the same command goes on with it.
    """
    import asyncio  # a seventh of the time that `replnet --help` takes

    require_extra("httpx", "watch")
    from replnet.watch import VisitLog, read_fleet
    from replnet.watch import watch as visit_all

    fleet = read_fleet(file)
    with VisitLog(output or file.with_suffix(".sqlite")) as history:
        board = _Board(fleet, len(history))
        echo(f"watching {pace_text(fleet)}; {history.path}", err=True)
        for host, every in fleet.slow_hosts.items():
            words = f"{host}: with that gap, its nodes can be visited every {duration(every, True)} only"
            echo(escape_unprintable(f"{words} (a smaller gap, or a longer interval)"), err=True)

        def record(visit: Visit) -> None:
            """Record a visit, and tell of it."""
            history.add(visit)
            board.note(visit)
            speak()

        with live_display(board.picture, board.news) as speak:
            try:
                asyncio.run(visit_all(fleet, record, once=once))
            except KeyboardInterrupt:
                if once:
                    raise
        if once:
            print_table(Table(HEADS, board.rows()))
        echo(f"{count_text(board.visits, 'visit')}, {count_text(len(history), 'visit')} in {history.path}", err=True)
    return INCOMPLETE if once and board.has_fault else FINE


def pace_text(fleet: Fleet) -> str:
    """Return in words how many nodes a fleet has, how often each is visited, and how often a host is at most."""
    paces = dict.fromkeys(duration(node.every or fleet.every, True) for node in fleet.nodes.values())
    every, gap = " or ".join(paces), duration(fleet.gap, True)
    return f"{count_text(len(fleet.nodes), 'node')}, each every {every}, and a host at most every {gap}"


@final
class _Board:
    """The state of every node as far as it has been seen, for the display and for lines of news."""

    def __init__(self, fleet: Fleet, visits: int) -> None:
        self._nodes: dict[str, dict[str, Any]] = {
            name: {"version": "", "since": None, "visits": 0, "faults": 0, "fault": None} for name in fleet.nodes
        }
        self._news: list[str] = []
        self.visits = 0

    @property
    def has_fault(self) -> bool:
        """Whether the last visit of some node brought no version."""
        return any(about["fault"] is not None for about in self._nodes.values())

    def note(self, visit: Visit) -> None:
        """Take in a visit; what is new about its node becomes a line of news."""
        about, name = self._nodes[visit.node], escape_unprintable(visit.node)
        self.visits += 1
        about["visits"] += 1
        if visit.fault is not None:
            about["faults"] += 1
            if about["fault"] != visit.fault:
                self._news.append(f"{name}: {escape_unprintable(visit.fault)}")
        elif visit.version != about["version"]:
            about.update(version=visit.version, since=visit.time)
            self._news.append(f"{name}: has {str(visit.version)[:LONGEST_VERSION_SHOWN]}")
        elif about["fault"] is not None:
            self._news.append(f"{name}: answers again, with {str(visit.version)[:LONGEST_VERSION_SHOWN]}")
        about["fault"] = visit.fault

    def news(self, seconds: float) -> str:
        """Return the news since the last call, a line each, with the seconds since the begin; empty without any."""
        lines, self._news = self._news, []
        return "\n".join(f"{seconds:.0f} s: {line}" for line in lines)

    def rows(self) -> list[list[str]]:
        """Return a row of texts for every node, as HEADS names them."""
        now = time.time()
        return [
            [
                name, str(about["version"])[:LONGEST_VERSION_SHOWN],
                "" if about["since"] is None else f"{span(now - about['since'])} ago",
                f"{about['visits']:,}", f"{about['faults']:,}", about["fault"] or "",
            ]
            for name, about in self._nodes.items()
        ]  # fmt: skip

    def picture(self) -> Any:
        """Return a table of all nodes, for a terminal."""
        from rich.table import Table as Picture

        table = Picture(*HEADS, box=None)
        for row in self.rows():
            table.add_row(*map(escape_unprintable, row))
        return table
