"""Run directories that lose nothing.

In it:

    durable  files that are there whole or not at all, and a lock that one process holds
    journal  an append-only file of records, one line each, that knows what is missing from it
    store    a run directory: what was asked, every finished cell, and at the end the table
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.store import durable
    from replnet.store.durable import (
        DiskError,
        RefusedError,
        canonical_json,
        digest,
        json_data,
        lock,
        read_plain_file,
        seal,
        unseal,
        write_whole,
    )
    from replnet.store.store import Contents, Store, changed_fields, part_key, parts_of_cell, read_contents
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
