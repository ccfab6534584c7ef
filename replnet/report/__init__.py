"""Reports: tables, figures with matplotlib, and one HTML page that shows them.

The page knows nothing of how an experiment ran: it is given sections, each a
table with what was measured, predicted and printed, and shows them.

    section      what a report is made of: one section per experiment, from a sweep or its directory
    page         the HTML page, a section of it for a notebook, and the report as files
    html_table   the table of a section
    arrange      from rows to what a figure shows, before anything is drawn
    figure       figures with matplotlib
    markup       HTML that cannot be injected into, the theme in light and dark, and figures as SVG (with page.css)
    trace_plots  pictures of a recorded history
"""

from replnet.report.figure import plot
from replnet.report.page import notebook, page, write
from replnet.report.section import FigureSpec, Section

__all__ = ["FigureSpec", "Section", "notebook", "page", "plot", "write"]
