"""Reports: tables, figures with matplotlib, and one HTML page that shows them.

The report knows nothing of how an experiment ran: it is given sections, each a
table with what was measured, predicted and printed, and shows them.

    section       what a report is made of: one section per experiment
    sections      from a sweep, or its directory, to a section
    page          the HTML page, and a section of it for a notebook
    table         the table of a section
    arrange       from rows to what a figure shows, before anything is drawn
    figure        figures with matplotlib
    svg           figures as SVG for light and dark pages
    style         colours and the style sheet
    markup        HTML that cannot be injected into
    errata        the mistakes of the papers, and values that no paper prints
    trace_plots   pictures of a recorded history
    files         the report as files
"""

from replnet.report.figure import plot
from replnet.report.files import write
from replnet.report.page import notebook, page
from replnet.report.section import ClaimResult, FigureSpec, Section

__all__ = ["ClaimResult", "FigureSpec", "Section", "notebook", "page", "plot", "write"]
