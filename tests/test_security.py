"""What the page on security says that is not tested beside the code that does it."""

from __future__ import annotations

import json
import re
import subprocess
import sys

import pytest
from command_line import SMALL, replnet
from site_pages import PAGES

import replnet as rn
from replnet.cli.main import BAD_INPUT
from replnet.text.documents import LARGEST_GRAPH, LARGEST_YAML
from replnet.text.yaml_reader import ALIAS_BUDGET
from replnet.watch.content import LARGEST_BODY

PAGE = " ".join((PAGES / "reference" / "security.md").read_text().split())

CODE = {
    "tag": 'kind: !!python/object/apply:os.system ["touch ran"]\n',
    "arithmetic": "title: t\nvary: {k: [1]}\nvalues: {a: \"__import__('os').system('touch ran')\"}\n"
    "network: {kind: single, updates: exponential(rate=${a}), downloads: constant(rate=1)}\n",
    "attribute": "kind: single\nupdates: scipy(name=__class__)\ndownloads: constant(rate=1)\n",
    "law": "kind: single\nupdates: os.system('touch ran')\ndownloads: constant(rate=1)\n",
}


@pytest.mark.parametrize("text", CODE.values(), ids=CODE)
def test_what_looks_like_code_is_an_error(text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file.yaml").write_text(text)
    done = replnet("check", "file.yaml")
    assert (done.returncode, done.stdout) == (BAD_INPUT, "")
    assert not (tmp_path / "ran").exists()


def test_entities_that_multiply_are_refused(tmp_path):
    names = "".join(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 10))
    text = f'<!DOCTYPE m [<!ENTITY a0 "lol">{names}]><mediawiki><page><title>&a9;</title></page></mediawiki>'
    (tmp_path / "dump.xml").write_text(text)
    done = replnet("trace", "import", tmp_path / "dump.xml", "--page", "x")
    assert (done.returncode, "is not XML" in done.stderr) == (BAD_INPUT, True)


def test_numbers_on_the_page_are_those_of_the_code():
    assert f"above {LARGEST_YAML // 1_000_000} MB" in PAGE
    assert f"graphs above {LARGEST_GRAPH // 1_000_000} MB" in PAGE
    assert f"more than {ALIAS_BUDGET:,} nodes" in PAGE
    assert f"at most {LARGEST_BODY >> 20} MB" in PAGE


def test_run_directories_are_json_and_parquet(tmp_path):
    (tmp_path / "small.yaml").write_text(SMALL)
    rn.sweep(tmp_path / "small.yaml", tmp_path / "run", workers=0)
    kinds = {path.name: path.read_bytes() for path in (tmp_path / "run").iterdir()}
    assert set(kinds) == {"header.json", "journal", "lock", "table.parquet", "provenance.json"}
    assert kinds["table.parquet"][:4] == b"PAR1"
    assert kinds["lock"] == b""  # the number and host of the process that wrote are gone
    for name in ("header.json", "provenance.json"):
        json.loads(kinds[name])


def test_a_command_loads_no_plug_in_that_it_does_not_need():
    """The groups on the page are those of the code, and a prediction of a shipped network reads no entry point."""
    program = (
        "import sys\nfrom importlib import metadata\nasked = []\nusual = metadata.entry_points\n"
        "metadata.entry_points = lambda **how: asked.append(how.get('group')) or usual(**how)\n"
        "import replnet as rn\nrn.predict('cascade')\n"
        "print([group for group in asked if str(group).startswith('replnet')])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
    assert set(re.findall(r"`(replnet\.(?!stats)\w+)`", PAGE)) == {
        "replnet.laws", "replnet.formulas", "replnet.metrics", "replnet.loggers",
    }  # fmt: skip
