"""Reports: tables, figures with matplotlib, and one HTML page that shows them.

The report knows nothing of how an experiment ran: it is given sections, each a
table with what was measured, predicted and printed, and shows them.
"""

from replnet.report.figure import plot
from replnet.report.files import write
from replnet.report.page import notebook, page
from replnet.report.section import ClaimResult, FigureSpec, Section

__all__ = ["ClaimResult", "FigureSpec", "Section", "notebook", "page", "plot", "write"]
