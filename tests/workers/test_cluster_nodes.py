"""What nodes of a cluster have, and what is said of those that cannot do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from replnet.workers.cluster_nodes import PACKAGE, ClusterNode, RayUnreachableError, code_for, require_fit, short_cause
from replnet.workers.node_probe import NodeSoftware, digest, probe

HERE = NodeSoftware("3.11.7", digest(PACKAGE), [])
NODE = ClusterNode("abcdef123", "10.0.0.1", 2.0, 1e9, HERE)


def test_this_machine_has_what_it_runs_with():
    found = probe(["numpy", "no-such-library"])
    assert (found.replnet, found.missing) == (digest(PACKAGE), ["no-such-library"])


def test_the_digest_is_that_of_names_and_contents(tmp_path):
    seen = {digest(tmp_path)}
    for name, text in (("a.py", "1"), ("a.py", "2"), ("b.py", "2")):
        (tmp_path / name).write_text(text)
        seen.add(digest(tmp_path))
    (tmp_path / "notes.txt").write_text("not a source")
    assert len(seen) == 4
    assert digest(tmp_path) in seen


def test_code_travels_where_a_node_has_none_or_another_and_stays_where_all_have_it():
    none, other = (replace(NODE, software=HERE._replace(replnet=what)) for what in ("", "another"))
    assert code_for([NODE, NODE]) == code_for([]) == {}
    for node in (none, other):
        assert code_for([NODE, node])["py_modules"] == [str(PACKAGE)]
    assert code_for([NODE, replace(none, cpus=0.0)]) == {}  # a node that is left alone


def test_what_cannot_travel_is_named_with_its_node():
    poor = replace(NODE, software=HERE._replace(missing=["numba", "scipy"]))
    silent = replace(NODE, software=None, silence="starts no process within 30 s")
    words = r"node 10\.0\.0\.1 \(abcdef\) lacks numba, scipy \(pip install .*; node .* starts no process within 30 s"
    with pytest.raises(RayUnreachableError, match=words):
        require_fit([NODE, poor, silent])
    with pytest.raises(RayUnreachableError, match="no node of the cluster has a CPU"):
        require_fit([replace(NODE, cpus=0.0)])


class OutOfMemoryError(Exception):
    """Named as that of Ray."""


def test_of_what_ray_says_of_a_death_the_line_with_the_cause_is_told():
    story = "2 worker(s) were killed due to the node running low on memory.\nOOM kill reason: ...\nRefer to the docs."
    low = "OutOfMemoryError: 2 worker(s) were killed due to the node running low on memory."
    assert short_cause(OutOfMemoryError(story)) == low
    died = "The actor died.\nIts worker died. Some common causes include: (1) ..."
    assert short_cause(RuntimeError(died)) == "RuntimeError: Its worker died."
