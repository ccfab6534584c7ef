"""replnet in programs of users: twice in a process, in a thread, in a notebook, beside processes of their own."""

from __future__ import annotations

import json

import pytest

WORK = """
import replnet as rn

CELLS = {
    "name": "cells", "title": "cells of a tenth of a second",
    "vary": {"rate": [1, 2, 3, 4, 5, 6, 7, 8]},
    "network": {"kind": "single", "updates": "exponential(rate=1)", "downloads": "constant(rate=${rate})"},
    "run": {"horizon": 5e6},
}

def sweep(folder, **how):
    result = rn.sweep(CELLS, folder, **how)
    assert result.done == 8 and not result.incomplete, result.incomplete
    return result.table

def run(folder, **how):
    result = rn.emulate("cascade", horizon=5e5, out=folder, **how)
    assert not result.incomplete, result.incomplete
    return result.table
"""
ALL = """
first, second = sweep("a"), sweep("b", workers=2)
assert first.equals(second)
assert sweep("a").equals(first)
one, two = run("c"), run("d", workers=2)
assert one.equals(two)
assert run("c").equals(one)
"""


def test_again_and_again_in_one_process(installed):
    done = installed.python(WORK + ALL + "print('fine')")
    assert (done.code, done.out.strip(), done.err.strip()) == (0, "fine", ""), done


def test_in_a_thread_while_the_program_has_others(installed):
    program = f"""{WORK}
import threading
from concurrent.futures import ThreadPoolExecutor

def everything():
    exec({ALL!r}, globals())
    return "fine"

stop = threading.Event()
threading.Thread(target=stop.wait).start()
with ThreadPoolExecutor(1) as pool:
    print(pool.submit(everything).result())
stop.set()
"""
    done = installed.python(program)
    assert (done.code, done.out.strip(), done.err.strip()) == (0, "fine", ""), done


def test_in_a_notebook(installed):
    cells = [WORK, *ALL.strip().splitlines(), "rn.emulate('cascade')"]
    notebook = {
        "nbformat": 4, "nbformat_minor": 5,
        "metadata": {"kernelspec": {"name": "python3", "display_name": "Python 3", "language": "python"}},
        "cells": [
            {"cell_type": "code", "id": f"cell-{at}", "metadata": {}, "source": cell, "outputs": [],
             "execution_count": None}
            for at, cell in enumerate(cells)
        ],
    }  # fmt: skip
    (installed.folder / "notebook.ipynb").write_text(json.dumps(notebook))
    program = """
import nbformat
from nbclient import NotebookClient

notebook = nbformat.read("notebook.ipynb", as_version=4)
NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
(shown,) = notebook.cells[-1].outputs
assert "<table" in shown.data["text/html"]
print("fine")
"""
    done = installed.python(program)
    assert (done.code, done.out.strip()) == (0, "fine"), done


@pytest.mark.parametrize(
    "method", ["fork", *(pytest.param(method, marks=pytest.mark.slow) for method in ("spawn", "forkserver"))]
)
def test_in_processes_of_the_program_itself(installed, method):
    program = f"""{WORK}
import multiprocessing

def everything(number):
    return run(f"{{number}}", workers=2)

if __name__ == "__main__":
    mine = everything(0)
    with multiprocessing.get_context({method!r}).Pool(2) as pool:
        assert all(table.equals(mine) for table in pool.map(everything, [1, 2]))
    assert run("again", workers=2).equals(mine)
    print("fine")
"""
    done = installed.python(program)
    assert (done.code, done.out.strip()) == (0, "fine"), done
    assert "Traceback" not in done.err
