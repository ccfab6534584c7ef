"""Nodes as state machines: told what happened, they answer with commands; chance is scripted."""

from __future__ import annotations

import dataclasses

from replnet.engines.nodes.nodes import Answer, Client, Pull, Replica, Reply, Send, Source, freshest
from replnet.testing import scripted_habit


def test_an_upstream_hands_over_its_latest_other_contacts():
    source, ask = Source("s", iter([9.0])), Pull(pool="p", contacts=2)

    def contacts(caller: str) -> tuple[str, ...]:
        (send,) = source.on_message(0.0, caller, ask)
        return send.message.contacts

    assert [contacts(name) for name in ("a", "b", "c", "b", "a")] == [(), ("a",), ("b", "a"), ("c", "a"), ("b", "c")]


def test_a_poll_that_goes_both_ways_offers_what_there_is_and_it_is_taken_after_the_reply():
    habit = dataclasses.replace(scripted_habit(["b"]), two_way=True)
    a, b = Replica({"polls": habit}), Replica({})
    a.on_message(1.0, "s", Reply({"s": 1.0, "t": 0.5}))
    b.on_message(1.0, "s", Reply({"s": 0.5, "t": 0.8}))
    poll, _ = a.on_wake(2.0, "polls")
    assert poll == Send("b", Pull(offered={"s": 1.0, "t": 0.5}))
    assert b.on_message(2.0, "a", poll.message) == [Send("a", Reply({"s": 0.5, "t": 0.8}))]
    assert b.copies == {"s": 1.0, "t": 0.8}


def test_contacts_of_one_pool_are_no_business_of_another():
    source = Source("s", iter([9.0]))
    source.on_message(0.0, "a", Pull(pool="p", contacts=1))
    (send,) = source.on_message(0.0, "b", Pull(pool="q", contacts=1))
    assert send.message.contacts == ()


def test_answers_to_different_queries_do_not_mix():
    client = Client(scripted_habit(["a"], ["b"]))
    client.on_wake(1.0, "queries")
    client.on_wake(2.0, "queries")
    assert client.on_message(2.1, "b", Reply({"s": 2.0}, 2)) == [Answer({"s": 2.0})]
    assert client.on_message(2.2, "a", Reply({"s": 1.0}, 1)) == [Answer({"s": 1.0})]
    assert client.on_message(2.3, "a", Reply({"s": 1.0}, 1)) == []  # a duplicate


def test_what_brings_nothing_new_leaves_what_is_held_as_it_is():
    """Whoever runs nodes sees by it that nothing has changed."""
    mine = {"s": 2.0, "t": 1.0}
    assert freshest(mine, {"s": 1.0}) is freshest(mine, {"s": 2.0}) is freshest(mine, {}) is mine
    assert freshest(mine, {"s": 3.0, "u": 0.5}) == {"s": 3.0, "t": 1.0, "u": 0.5}
    assert mine == {"s": 2.0, "t": 1.0}  # others may have been handed it
