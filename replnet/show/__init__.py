"""What people see, but for the command line.

In it:

    pictures  networks as text and as pictures
    report    tables, figures, the HTML report
    web       pages in the browser: explore, watch, read
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.show.pictures import describe, draw, svg
    from replnet.show.report import notebook, plot
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
