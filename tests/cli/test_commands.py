"""Whole commands, as errors.yaml and commands.yaml have them: what they print, and how they end."""

from __future__ import annotations

import shlex
from pathlib import Path

import numpy as np
import pytest
from command_line import SMALL, replnet
from recorded import pair, written
from ruamel.yaml import YAML

from replnet.cli.main import BAD_INPUT
from replnet.laws import Exponential

HERE = Path(__file__).parent
ERRORS = YAML(typ="safe").load(HERE / "errors.yaml")
COMMANDS = YAML(typ="safe").load(HERE / "commands.yaml")
PAGES = (("a", 2), ("b", 7), ("c", 1), ("d", 50))
FILES = {
    "small.yaml": SMALL,
    "wrong.yaml": SMALL.replace("rises", "rise").replace("0.005}", "no}").replace("x: rate", "x: rat"),
    "bad.yaml": "kind: cascade\ndepth: 0\nupdates: exponential(rate=-1)\ndownload: constant(rate=1)\n",
    "two.yaml": "kind: aggregate\nsources: 2\nrates: [1, 9]\nweights: [1, 1]\nbudget: 10\nallocate: uniform\n",
    "visits.csv": "time,node,version\n"
    + "".join(f"{t},main,{t // 10}\n{t},mirror,{(t - t % 4) // 10}\n" for t in range(600)),
    "seen.csv": "time,node,version\n0,source,a\n0,m,OLD\n"
    + "".join(f"{10 * i + 10},source,v{i}\n{10 * i + 11},m,v{i}\n" for i in range(40)),
    "crawler.yaml": "kind: aggregate\nunit: d\nrates: pages.csv\nbudget: 4\nallocate: freshness\n",
    "pages.csv": "name,rate,weight,language\n/a,1,1,en\n/b,2,3,en\n/c,50,1,de\n=d,0,1,de\n",
    "scheduled.csv": "name,rate,weight,visit_rate,visit_interval,next_1\n"
    "'=d,0,1,0,,\n/a,1,1,1,1,0.5\n/b,2,3,3,,0\n/c,50,1,0,,\n",
    "hourly.csv": "name,rate,weight\n/a,0.03/h,\n/b,0.01/h,\n",
    "crawled.csv": "time,url,changed\n"
    + "".join(f"2026-01-{day:02},/{page},{int(day % step == 0)}\n" for day in range(1, 29) for page, step in PAGES),
    "many.csv": "time,node,version\n"
    + "".join(f"{t},source,{t // 10}\n" for t in range(0, 300, 2))
    + "".join(f"{t},m{i:02},{(t - t % (i + 1)) // 10}\n" for i in range(30) for t in range(0, 300, 2)),
    "ages.csv": "time,node,left\n" + "".join(f"{t},m,{t - t % 7}\n" for t in range(99)),
    "observed-updates.csv": "mine\n",
    "empty.csv": "",
    "one.csv": "timestamp\n17\n",
    "early.csv": "timestamp\n17\n19\n18\n",
    "nan.csv": "timestamp\n17\nnan\n18\n",
    "hello.csv": "timestamp\n17\nhello\n",
    "same.csv": "timestamp\n17\n17\n17\n",
    "few.csv": "1\n2\n3\n4\n",
    "three.csv": "0\n25\n49\n",
    "clock.csv": "\n".join(map(str, range(50))),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with these files, recorded processes in u.csv and d.csv, and the run directory of small.yaml, `done`."""
    place = tmp_path_factory.mktemp("commands") / "here"
    place.mkdir()
    for name, content in FILES.items():
        (place / name).write_text(content)
    processes = pair(12, Exponential(mean=5000), Exponential(mean=9000), 6e5)
    for name, process in zip(("u.csv", "d.csv"), processes, strict=True):
        written(place / name, np.floor(process.times) + 1.7e9)
    assert replnet("sweep", place / "small.yaml", "--workers", 0, "-o", place / "done").returncode == 0
    return place


@pytest.fixture(autouse=True)
def _here(folder, monkeypatch):
    monkeypatch.chdir(folder)


@pytest.mark.parametrize("command", ERRORS)
def test_what_is_wrong_is_named(command, folder):
    before = sorted(folder.iterdir())
    done = replnet(*shlex.split(command))
    assert (done.returncode, done.stdout) == (BAD_INPUT, "")
    assert ERRORS[command] in done.stderr
    assert "Traceback" not in done.stderr
    assert sorted(folder.iterdir()) == before


@pytest.mark.parametrize("case", COMMANDS, ids=lambda case: case["run"])
def test_what_is_printed(case, folder):
    before = sorted(folder.iterdir())
    done = replnet(*shlex.split(case["run"]))
    assert done.returncode == case.get("code", 0), done.stderr
    for name, printed in (("out", done.stdout), ("err", done.stderr)):
        at = 0
        for part in case.get(name, ()):
            assert part in printed[at:], printed
            at = printed.index(part, at) + len(part)
        assert printed == "" or case.get(name) != ""
    for part in case.get("absent", ()):
        assert part not in done.stdout + done.stderr
    assert sorted(folder.iterdir()) == before
