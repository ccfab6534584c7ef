"""Networks whose nodes have a bandwidth."""

import replnet as rn

E1 = "exponential(rate=1)"


def cluster(**fields):
    usual = {
        "replicas": 10,
        "peers": 3,
        "updates": E1,
        "downloads": E1,
        "polls": "exponential(rate=2)",
        "bandwidth": 20,
    }
    return rn.cooperative(**{**usual, **fields})


def redundant(rate, **fields):
    usual = {"replicas": 10, "ask": 3, "updates": E1, "downloads": E1, "bandwidth": 20}
    return rn.redundant(queries=f"exponential(rate={rate})", **{**usual, **fields})
