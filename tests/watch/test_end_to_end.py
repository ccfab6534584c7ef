"""A fleet of real servers on loopback, watched by the program and observed: the truth lies within the bounds."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import ExitStack

import pytest
from fleet_world import World, faulty_fleet
from ruamel.yaml import YAML
from web_server import web_server
from zone_world import missing_programs, zone_servers

import replnet as rn

SOUND = ("slow", "clock", "down", "broken")  # replicas that never go back, whatever else is wrong with them
NAMED = {
    "down": "status: 503",
    "broken": "too many requests: status 429",
    "gone": "no connection: ",
    "named": "certificate: IP address mismatch, certificate is not valid for",
}
ONLY_WATCHED = ("broken: broken answer: ", "broken: redirect: leads to 'http://10.1.2.3/'")


def watched(folder, fields, seconds, **variables):
    """Watch a fleet for some seconds, and return what the program says."""
    with (folder / "fleet.yaml").open("w") as file:
        YAML().dump(fields, file)
    command = [sys.executable, "-m", "replnet", "watch", "fleet.yaml"]
    environment = {**os.environ, **variables}
    with subprocess.Popen(command, cwd=folder, stderr=subprocess.PIPE, text=True, env=environment) as program:
        time.sleep(seconds)
        program.send_signal(signal.SIGINT)
        said = program.stderr.read()
    assert program.returncode == 0, said
    return said


def watch_and_compare(folder, seconds, pace):
    world = World(
        {
            "source": 8 * pace,
            "slow": 5 * pace,
            "clock": 3 * pace,
            "down": 11 * pace,
            "broken": 7 * pace,
            "flapping": pace,
        }
    )
    with faulty_fleet(world, folder) as (nodes, trusted), world.running():
        fields = {"every": pace, "gap": 0.01, "timeout": 2, "nodes": nodes}
        said = watched(folder, fields, seconds, SSL_CERT_FILE=str(trusted))
    for node, fault in NAMED.items():
        assert f"{node}: {fault}" in said, said
    assert all(text in said for text in ONLY_WATCHED), said
    result = rn.observe(folder / "fleet.sqlite")
    notes = "\n".join(result.notes)
    for node, fault in NAMED.items():
        assert any(note.startswith(f"{node}: ") and fault in note for note in result.notes), notes
    assert "clock: its clock is " in notes
    assert "flapping: " in notes
    truth = world.history.truth(result.start, result.end)
    rows = [row for row in result.rows if row["group"] in SOUND]
    assert {row["metric"] for row in rows} >= {"freshness", "staleness_age", "lag", "missing_updates"}
    # A visit takes a while, and is put at its middle: by that much a change may seem early or late.
    slack = 0.1 * result.changes / (result.end - result.start)
    for row in rows:
        if row["metric"] == "freshness":
            assert row["least"] - slack <= truth[row["group"], "freshness"] <= row["most"] + slack, row
    wide = {row["group"]: row["most"] - row["least"] for row in rows if row["metric"] == "freshness"}
    assert max(wide["slow"], wide["clock"]) < 0.5 < wide["broken"] < 1, wide
    return result


@pytest.mark.acceptance
def test_a_fleet_with_every_fault_is_watched_for_half_a_minute(tmp_path):
    watch_and_compare(tmp_path, 30, 0.4)


@pytest.mark.slow
def test_a_fleet_with_every_fault_is_watched_for_ten_minutes(tmp_path):
    result = watch_and_compare(tmp_path, 600, 1.5)
    assert result.changes > 45


@pytest.mark.acceptance
def test_what_is_proposed_for_real_servers_meets_the_target_once_they_do_it(tmp_path):
    """Their pulls are made as often as is proposed, and they are watched again."""
    goal = 0.6
    paces = {"source": 4.0, "slow": 7.0, "slower": 11.0, "close": 0.2}

    def observed(folder):
        world = World(paces)
        folder.mkdir()
        with ExitStack() as stack:
            pages = {name: {"/": lambda request, name=name: world.page(name)} for name in paces}
            urls = {name: stack.enter_context(web_server(answers)) for name, answers in pages.items()}
            nodes = {name: {"url": f"{url}/", "version": {"pattern": r"(\d+)"}} for name, url in urls.items()}
            with world.running():
                watched(folder, {"every": 0.1, "gap": 0.01, "nodes": nodes}, 40)
        return rn.observe(folder / "fleet.sqlite")

    proposals = rn.propose(observed(tmp_path / "before"), goal, check=False)
    assert set(proposals.missed) >= {"slow", "slower"}
    assert "close" not in proposals.missed
    for proposal in proposals.found:
        if proposal.schedule is not None:
            assert proposal.meets
            paces[proposal.group] = proposal.schedule.interval
    assert paces["slow"] == paces["slower"] < 2
    after = observed(tmp_path / "after")
    fresh = {row["group"]: row["most"] for row in after.rows if row["metric"] == "freshness"}
    assert min(fresh[name] for name in paces if name != "source") >= goal


@pytest.mark.acceptance
@pytest.mark.skipif(bool(missing_programs()), reason=f"not installed: {', '.join(missing_programs())}")
def test_a_zone_at_real_name_servers(tmp_path):
    """The one that is told has a new serial at once, the other when its refresh is due."""
    with zone_servers(tmp_path) as zone:
        stop = threading.Event()

        def publish() -> None:
            number = 1
            while not stop.wait(3):
                number += 1
                zone.update(number)

        thread = threading.Thread(target=publish)
        thread.start()
        try:
            watched(tmp_path, {"every": 0.2, "gap": 0.01, "nodes": zone.nodes}, 25)
        finally:
            stop.set()
            thread.join()
        result = rn.observe(tmp_path / "fleet.sqlite")
    truth = zone.history.truth(result.start, result.end)
    fresh = {row["group"]: row for row in result.rows if row["metric"] == "freshness"}
    for name in ("notified", "refreshing"):
        row = fresh[name]
        assert row["least"] - 0.03 <= truth[name, "freshness"] <= row["most"] + 0.03, (truth, row)
    assert fresh["notified"]["measured"] > fresh["refreshing"]["most"]
    assert truth["refreshing", "freshness"] < 0.9 < truth["notified", "freshness"]
