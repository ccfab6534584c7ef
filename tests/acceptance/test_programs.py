"""replnet in programs of users: twice in a process, in a thread, in a notebook, beside processes of their own."""

from __future__ import annotations

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
THREAD = f"""{WORK}
import threading
from concurrent.futures import ThreadPoolExecutor

stop = threading.Event()
threading.Thread(target=stop.wait).start()
with ThreadPoolExecutor(1) as pool:
    pool.submit(exec, {ALL!r}, globals()).result()
stop.set()
"""
NOTEBOOK = f"""
import nbformat
from nbclient import NotebookClient
from nbformat.v4 import new_code_cell, new_notebook

cells = [{WORK!r}, *{ALL!r}.strip().splitlines(), "rn.emulate('cascade')"]
notebook = new_notebook(cells=[new_code_cell(cell) for cell in cells])
NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
(shown,) = notebook.cells[-1].outputs
assert "<table" in shown.data["text/html"]
"""
PROCESSES = f"""{WORK}
import multiprocessing

def everything(number):
    return run(f"{{number}}", workers=2)

if __name__ == "__main__":
    mine = everything(0)
    with multiprocessing.get_context("METHOD").Pool(2) as pool:
        assert all(table.equals(mine) for table in pool.map(everything, [1, 2]))
    assert run("again", workers=2).equals(mine)
"""
PROGRAMS = {"again and again": WORK + ALL, "thread": THREAD, "notebook": NOTEBOOK}
PROGRAMS |= {method: PROCESSES.replace("METHOD", method) for method in ("fork", "spawn", "forkserver")}
SLOW = ("spawn", "forkserver")


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=pytest.mark.slow if name in SLOW else ()) for name in PROGRAMS]
)
def test_programs_of_users(installed, name):
    done = installed.python(PROGRAMS[name])
    assert (done.code, done.out.strip()) == (0, ""), done
    assert "Traceback" not in done.err
    assert name in ("notebook", *SLOW) or done.err.strip() == "", done
