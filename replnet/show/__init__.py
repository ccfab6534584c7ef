"""What people see, but for the command line.

In it:

    table     tables as values, made once for each thing that is shown, and as lines of text
    theme     the one theme: colours and the signs of verdicts
    pictures  networks as text and as pictures, and pictures as files
    report    tables, figures, the HTML report
    web       pages in the browser: explore, watch, read
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.show.pictures import describe, draw, svg
    from replnet.show.report import notebook, plot
    from replnet.show.table import COLUMN_GAP, Kind, Table, badness, cell_text, result_table
    from replnet.show.theme import EITHER_BAND, EITHER_GRID, EITHER_QUIET, EITHER_SERIES, TERMINAL_COLOURS, VERDICTS
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
