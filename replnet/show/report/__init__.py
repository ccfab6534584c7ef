"""Reports: tables, figures with matplotlib, and one HTML page that shows them.

The page knows nothing of how an experiment ran: it is given sections, each a
table with measured, predicted and printed values, and shows them.

    section       what a report is made of: one section per experiment, from a sweep or its directory
    page          the HTML page, a section of it for a notebook, and the report as files
    html_table    the table of a section
    arrange       from rows to what a figure shows, before anything is drawn
    figure        figures with matplotlib
    markup        HTML that cannot be injected into, and the style sheet (with page.css)
    reproduction  all experiments of the papers run one after another, and one report of them
    trace_plots   pictures of a recorded history
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.show.report.arrange import Arrangement, PARTS, Series, arrange
    from replnet.show.report.page import notebook, page, plot, write
    from replnet.show.report.reproduction import reproduce
    from replnet.show.report.section import FigureSpec, Section, holds, section_of
    from replnet.show.report.trace_plots import draw
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
