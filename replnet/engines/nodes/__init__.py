"""The nodes as state machines, and what runs them: engine `step`, and the hosts of a live run.

In it:

    nodes          source, replica and client as state machines, and the messages between them: pulls and replies
    runner         wakes, messages, lines and faults of nodes, in virtual time or on a clock
    measure_nodes  measurements of nodes while they run: the copies that they hold, their answers, their log
    step           all nodes of a replication in one runner, one event at a time, in virtual time
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.engines.nodes.measure_nodes import NodeMeasure, NodeStates
    from replnet.engines.nodes.nodes import Copies, Message, NoReply, NodeId, Pull, PullSchedule, Replica, Reply, Send
    from replnet.engines.nodes.runner import EventQueue, Instants, PULL, REPLY, Runner, RunnerState, TimedMessage
    from replnet.engines.nodes.step import Lateness, StepRun, longest_delay, make_runner, run_path, run_to_zero
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
