"""What hosts send one another comes as it left, each batch once, and none to or from the wrong incarnation."""

from __future__ import annotations

import pytest

from replnet.engines.nodes.nodes import Message, NoReply, Pull, Reply
from replnet.engines.nodes.runner import TimedMessage
from replnet.live.batches import Mailbox, pack, unpack


def parcel(message: Message) -> TimedMessage:
    return TimedMessage(0, 1, 0, 0.0, 0.0, 0.0, False, message)


def test_each_number_is_taken_once_and_dead_incarnations_are_forgotten():
    box = Mailbox(9, 0, lambda to, batch: None)
    assert [box.is_new((0, 0, n)) for n in (1, 0, 1, 3, 0, 2)] == [True, True, False, True, False, True]
    assert box.is_new((1, 0, 0))
    assert box.is_new((0, 1, 0))  # it has begun anew, and counts from zero
    assert not box.is_new((0, 0, 4))
    assert (box.taken, box.repeated) == (6, 3)


@pytest.mark.parametrize(
    "said", [Pull(), Pull(3, "a", 2), Reply({}), Reply({4: 1.5}, 3, (1, 2)), Reply({}, 0, ()), NoReply(5)]
)
def test_messages_survive_the_way(said):
    sent = [TimedMessage(3, 1, 2, 4.5, 4.25, 4.0, True, said), parcel(said)]
    assert unpack(pack((1, 2, 3), sent)) == ((1, 2, 3), sent)


def test_nothing_reaches_the_wrong_incarnation():
    """A reply to what a client had asked before it was lost would otherwise answer another query."""
    sent = []
    one, other = (Mailbox(me, 0, lambda to, batch: sent.append(batch)) for me in (0, 1))
    one.put(1, parcel(Pull()))
    one.flush(0.0)
    other.meet(0, 1)
    assert other.open(sent.pop()) == []  # from before its birth
    one.put(1, parcel(Pull()))
    one.meet(1, 1)
    one.flush(0.0)
    assert not sent  # meant for its predecessor
    one.put(1, parcel(Pull()))
    one.flush(0.0)
    born = Mailbox(1, 1, lambda to, batch: None)
    assert born.open(sent[-1]) == [parcel(Pull())]
    assert born.open(sent[-1]) == []
    assert one.knows(1, 1)
    assert not one.knows(1, 2)
