"""Proposals of the command observe in the terminal: what to change for a target, and the lines that change it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from replnet.cli.output import DURATION_METRICS, echo, print_table
from replnet.show import Table
from replnet.text import count_text, duration

if TYPE_CHECKING:
    from replnet.histories import Observation, Proposal, Proposals

PROPOSAL_HEADS = ("replica", "would be", "95 % interval", "emulated", "requests", "change")


def print_proposals(observation: Observation, proposals: Proposals, most: int) -> None:
    """Print the first `most` proposals for the target, and lines of cron and of systemd timers that make such pulls."""
    text, replicas = proposals.target.text, len(observation.copies)
    missed = sum(name in observation.copies for name in proposals.missed)
    if not missed:
        echo(f"\nEvery replica meets {text}: there is nothing to change.")
        return
    if not proposals.found:
        echo(f"\n{missed} of {count_text(replicas, 'replica')} miss {text}. The record is too short for proposals.")
        return
    verb = "misses" if missed == 1 else "miss"
    echo(f"\n{missed} of {count_text(replicas, 'replica')} {verb} {text}. What would do:\n")
    is_time = proposals.target.metric in DURATION_METRICS

    def value_text(value: float | None) -> str:
        """Return a value of the target's metric as text, a length of time with its unit if any; empty for None."""
        if value is None:
            return ""
        return duration(value, observation.dated) if is_time else f"{value:.4f}"

    lines = []
    for row in (proposal.data() for proposal in proposals.found[:most]):
        ends = [value_text(row[end]) for end in ("ci_low", "ci_high")]
        lines.append([
            row["group"], value_text(row["expected"]), " .. ".join(ends) if all(ends) else "",
            value_text(row["emulated"]), row["requests"], row["change"],
        ])  # fmt: skip
    print_table(Table(PROPOSAL_HEADS, lines))
    if len(proposals.found) > most:
        echo(f"... and {len(proposals.found) - most} more; --all shows them")
    _print_timers([proposal for proposal in proposals.found[:most] if proposal.meets and proposal.schedule])


def _print_timers(proposals: list[Proposal]) -> None:
    """Print the lines of cron and of systemd timers for these proposals, those of equal lines together.

    Proposals without a schedule, or with one that no line of cron can say, are left out.
    """
    names: dict[tuple[str, str], list[str]] = {}
    for proposal in proposals:
        if proposal.schedule is not None and proposal.schedule.cron:
            names.setdefault((proposal.schedule.cron, proposal.schedule.timer), []).append(proposal.group)
    if names:
        echo("\nAs lines of cron (CRON_TZ=UTC) and of systemd timers:\n")
        echo("\n".join(f"  {cron:30} {timer:45} # {', '.join(groups)}" for (cron, timer), groups in names.items()))
