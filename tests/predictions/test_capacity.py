"""Of which lines there are formulas, and of which there are none."""

from __future__ import annotations

import math

from loaded import E1, cluster, redundant

import replnet as rn
from replnet.ages.prediction import Basis, Prediction
from replnet.ages.queueing import NEVER
from replnet.predictions.capacity import Capacity
from replnet.predictions.formulas import with_bandwidth
from replnet.predictions.pull_graph import PullGraph


def test_a_line_overflows_where_its_growth_says_so():
    """Of single messages at half load, exp(-1.2564 K): the root of exp(t) - 1 = 2 t."""
    places = -math.log(NEVER) / 1.2564 + 1
    for queue, predicted in ((math.floor(places), None), (math.ceil(places), 0)):
        network = rn.single(updates=E1, downloads=E1, bandwidth=2, queue=queue)
        found = {(row.group, row.metric): row.predicted for row in rn.predict(network).rows}
        assert found["level 1", "rejected"] == predicted


def test_polls_of_recent_contacts_come_in_swarms_for_which_there_is_no_formula():
    clients = {"ask": 1, "queries": "exponential(rate=20)"}
    for charge, known in (("issued", True), ("both", False)):
        network = cluster(replicas=4, polls=E1, peers=2, select="recent", charge=charge, clients=clients)
        found = {(row.group, row.metric): row.predicted for row in rn.predict(network).rows}
        assert (found["clients", "queueing_delay"] is not None) == known


def test_a_line_that_loses_its_clients_on_schedule_has_no_steady_rate_of_service():
    """It begins with a thousand messages in line, which all leave when nobody asks any more."""
    for when, known in (({"at": 7.0}, False), ({"up": E1, "down": E1}, True)):
        fault = {"cut": ["clients", "replicas"], **when}
        rows = rn.predict(redundant(60, replicas=1, ask=1, faults=[fault])).rows
        assert [row.predicted for row in rows if row.metric == "service_rate"] == [19 if known else None]


def test_predictions_without_limits_stay_as_they_were():
    network = rn.single(updates=E1, downloads=E1, bandwidth=0.5)
    given = {("level 1", "freshness"): Prediction.of(0.5, Basis("exact", "here", "no limits"))}
    assert not with_bandwidth(given, Capacity(PullGraph(network.topology)))["level 1", "freshness"].known
    assert given["level 1", "freshness"].value == 0.5
