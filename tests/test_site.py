"""The pages of the site do what they show: programs run, files pass `check`, commands print what stands below them.

    python tests/test_site.py [PAGE ...]

writes what the commands print into the pages, and the pages of the reference anew.
"""

from __future__ import annotations

import os
import re
import sys
import tempfile
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).with_name("support")))

import reference_pages
from command_line import replnet
from site_pages import FENCE, PAGES, SITE, abridged, calls, matches, names, output, write_file

import replnet as rn

LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)")


def run_page(text: str, *, write: bool = False) -> str:
    """Run all blocks of a page in the working directory, and return it, with what was printed if `write`.

    Raise AssertionError where a page shows something else than what happens.
    """
    space = {"rn": rn}

    def run_block(block: re.Match[str]) -> str:
        language, body = block.groups()
        if language == "python":
            exec(compile(body, "a page", "exec"), space)
        elif language == "yaml":
            done = replnet("check", write_file(body))
            assert done.returncode == 0, done.stderr
        elif language == "csv":
            write_file(body)
        elif language == "console":
            shown = [(call, output(call.command)) for call in calls(body)]
            if write:
                lines = (f"$ {call.command}\n{abridged(call.shown, printed)}" for call, printed in shown)
                return f"```console\n{''.join(lines)}```"
            for call, printed in shown:
                assert matches(call.shown, printed), f"$ {call.command}\n{call.shown}---- prints\n{printed}"
        return block.group()

    return FENCE.sub(run_block, text)


@pytest.mark.acceptance
@pytest.mark.parametrize("name", names())
def test_a_page_shows_what_happens(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    run_page((PAGES / name).read_text())


@pytest.mark.parametrize("name", names())
def test_links_lead_somewhere(name):
    page = PAGES / name
    for plain, picture in LINK.findall(re.sub(FENCE, "", page.read_text())):
        link = plain or picture
        if not link.startswith(("https://", "#")):
            path, _, anchor = link.partition("#")
            target = (page.parent / path).resolve()
            assert target.exists(), f"{name}: {link}"
            if anchor:
                heads = re.findall(r"^#+ (.*)$", target.read_text(), re.MULTILINE)
                assert anchor in [re.sub(r"[^\w -]", "", head.lower()).replace(" ", "-") for head in heads], link


def test_every_page_is_in_the_navigation():
    listed = re.findall(r"[\w/-]+\.md", (SITE / "mkdocs.yml").read_text())
    assert sorted(listed) == names()


@pytest.mark.parametrize("name", reference_pages.MADE)
def test_pages_that_are_made_from_the_code_are_up_to_date(name):
    page = (PAGES / name).read_text()
    assert page == reference_pages.made(name), f"out of date: python tests/test_site.py {name}"


if __name__ == "__main__":
    home = os.getcwd()
    for page_name in sys.argv[1:] or names():
        with tempfile.TemporaryDirectory() as place:
            os.chdir(place)
            written = run_page((PAGES / page_name).read_text(), write=True)
            os.chdir(home)
        (PAGES / page_name).write_text(written)
        if page_name in reference_pages.MADE:
            (PAGES / page_name).write_text(reference_pages.made(page_name))
