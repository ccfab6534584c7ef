"""Reports: tables, figures with matplotlib, and one HTML page that shows them.

The page knows nothing of how an experiment ran: it is given sections, each a
table with measured, predicted and printed values, and shows them.

    section       what a report is made of: one section per experiment, from a sweep or its directory
    page          the HTML page, a section of it for a notebook, and the report as files
    html_table    the table of a section
    arrange       from rows to what a figure shows, before anything is drawn
    figure        figures with matplotlib
    markup        HTML that cannot be injected into, the theme in light and dark, and figures as SVG (with page.css)
    reproduction  all experiments of the papers run one after another, and one report of them
    trace_plots   pictures of a recorded history
"""

from typing import Any

from replnet.report.figure import figure_of
from replnet.report.page import in_notebook, page, write
from replnet.report.section import FigureSpec, Section, section_of
from replnet.study.result import Result
from replnet.study.sweeps.finished import Sweep


def plot(of: Sweep | Result, metric: str | None = None) -> Any:
    """Return a matplotlib Figure of a metric; without one, of what the experiment draws, or of the first metric."""
    return figure_of(section_of(of, metric))


def notebook(of: Sweep | Result) -> str:
    """Return the section of a sweep or a result as a piece of HTML with its style, for a notebook."""
    return in_notebook(section_of(of))


__all__ = ["FigureSpec", "Section", "notebook", "page", "plot", "write"]
