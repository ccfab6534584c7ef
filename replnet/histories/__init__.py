"""Recorded histories: read, fitted, replayed, audited.

One record:

    history        a recorded history of events: when they came, and what their intervals have in common
    times          times of entries: numbers or dates, with the place of each in the record
    trace_import   event times from what records them: CSV, Parquet, JSON, dumps and answers of MediaWiki, git
    git_history    when the commits of a git repository changed a path
    mediawiki      when pages of a MediaWiki were revised
    trace_fit      what one recorded history says: laws, tail, correlation, rhythm, and the price of the Poisson formula
    fitting        laws fitted to recorded intervals by maximum likelihood, how good they are, and how heavy the tail is
    change_rate    how often an element changes, estimated from what visits see of it
    change_rates   how often each of many elements changes, from a log of visits

Two records, of a source and of a replica:

    audit          a real replica from its two recorded histories: how stale it was, and which models hold
    held_copies    how stale a copy was, from what a node held when
    replay         how stale a replica was at every instant, from two recorded histories, exactly
    locked_clocks  clocks of two histories: whether one record shows all of their phases, or one
    assumptions    what models assume of two histories, and whether records show that they fail
    conclusion     what an audit concludes: which models are justified, and by how much the others are off

Visits from outside:

    record_files   what others recorded, in files that are told apart by their content
    records        rows of what nodes had when, as all kinds of files are read
    mirror_status  the mirror status of Arch Linux, and the state file of mirmon
    monitoring     answers of Prometheus, and load times of root servers
    git_copies     git repositories of a source and of replicas, with what each commit brought
    reading        visits from records: who is the source, and what its versions are
    visits         visits of a source and its replicas, and the order in which versions came
    data_ages      how old the data of replicas was, where they tell when it left the source
    cases          what nodes may have had over time, as far as visits tell, and how stale replicas were then
    observing      a source and its replicas from outside: how fresh each was, and clients who ask several
    seen_copies    what visits see of updates and of copies: when each was first seen, and the last visit without it
    latency        publication latency: how long updates took from being first seen anywhere to being everywhere
    upstreams      which replicas pull from another replica, and not from the source
    reasons        why a replica was stale: the parts of its stale time, each with its reason
    reason_words   reasons in words: whole sentences, and a few words for a table
    time_words     lengths of time, instants and shares as texts for sentences
    proposals      what to change so that replicas meet a target: when and how often they pull, or how many are asked
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.histories.assumptions import Check
    from replnet.histories.audit import Audit, audit
    from replnet.histories.change_rate import ChangeRate, WINDOW, change_rate
    from replnet.histories.change_rates import change_rates
    from replnet.histories.data_ages import INFORMATION_AGE
    from replnet.histories.history import DAY, tail
    from replnet.histories.observing import ALL_REPLICAS, COLUMNS, LATENCY, Observation, observe
    from replnet.histories.proposals import PROPOSED, Proposal, Proposals, propose
    from replnet.histories.reason_words import Reason
    from replnet.histories.reasons import Phase
    from replnet.histories.seen_copies import SeenCopies, SeenUpdates
    from replnet.histories.time_words import percent, span_text
    from replnet.histories.times import read_time
    from replnet.histories.trace_fit import TARGETS, TraceFit, fit
    from replnet.histories.trace_import import history_of, import_trace, write_times
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
