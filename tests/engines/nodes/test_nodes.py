"""Nodes as state machines: told what happened, they answer with commands; chance is scripted."""

from __future__ import annotations

import dataclasses

from replnet.engines.nodes.nodes import Answer, Client, Pull, Replica, Reply, Send, Source, Wake, freshest
from replnet.testing import scripted_habit


def test_a_source_changes_and_serves_what_it_has_now():
    source = Source("s", iter([1.0, 2.5]))
    assert source.start() == [Wake(1.0, "updates")]
    assert source.on_wake(1.0, "updates") == [Wake(2.5, "updates")]
    assert source.on_message(1.5, "a", Pull(7)) == [Send("a", Reply({"s": 1.5}, 7))]


def test_a_replica_pulls_keeps_and_serves():
    replica = Replica({"downloads": scripted_habit(["s"], ["s"])})
    assert replica.start() == [Wake(1.0, "downloads")]
    assert replica.on_wake(1.0, "downloads") == [Send("s", Pull()), Wake(2.0, "downloads")]
    assert replica.on_message(1.0, "s", Reply({"s": 1.0})) == []
    assert replica.on_message(1.2, "b", Pull()) == [Send("b", Reply({"s": 1.0}))]


def test_a_replica_never_goes_back_in_time():
    replica = Replica({})
    replica.on_message(5.0, "a", Reply({"s": 4.0, "t": 1.0}))
    replica.on_message(6.0, "b", Reply({"s": 3.0, "t": 2.0}))
    assert replica.copies == {"s": 4.0, "t": 2.0}


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


def test_a_recent_replica_polls_whom_it_was_last_told():
    replica = Replica({"polls": scripted_habit()}, recent=True)
    assert replica.on_wake(1.0, "polls") == [Wake(1.0, "polls")]
    replica.on_message(1.0, "s", Reply({"s": 1.0}, contacts=("b", "c")))
    assert replica.on_wake(2.0, "polls") == [Send("b", Pull()), Send("c", Pull()), Wake(2.0, "polls")]
    replica.on_message(2.0, "b", Reply({"s": 0.5}))
    assert replica.contacts == ("b", "c")


def test_a_client_answers_with_the_freshest_once_all_have_replied():
    client = Client(scripted_habit(["a", "b"], ["b"]))
    assert client.start() == [Wake(1.0, "queries")]
    assert client.on_wake(1.0, "queries") == [Send("a", Pull(1)), Send("b", Pull(1)), Wake(2.0, "queries")]
    assert client.on_message(1.1, "b", Reply({"s": 0.2}, 1)) == []
    assert client.on_message(1.2, "a", Reply({"s": 0.9}, 1)) == [Answer({"s": 0.9})]


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
