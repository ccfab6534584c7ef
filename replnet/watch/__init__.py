"""Real sources and replicas, visited from outside: who had which version when.

In it:

    fleet        the file that says what is visited, how and how often, checked
    content      the version that a body has: its digest, what a pattern finds, a value in JSON
    http         visits of URLs: conditional requests, limits, redirects to named hosts only
    elsewhere    visits of name servers, git remotes, files and programs
    visit_log    all visits, in an SQLite file that survives a kill
    watching     visits at a stated pace, one host at a time, for as long as they are wanted
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.watch.fleet import Fleet, read_fleet
    from replnet.watch.visit_log import VisitLog, Visit
    from replnet.watch.watching import watch
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
