"""Networks as text and as pictures.

In it:

    description  a network as text: in a few lines, and its topology with the first branch in full
    positions    where the nodes of a picture stand: as their positions say, on a circle, in rows or as a map
    forest       the trees of a graph, and these as rows; nodes that do not fit into a row are drawn as one crowd
    structure    where the nodes of a graph without coordinates stand, so that its structure is seen
    drawing      pictures of networks, with matplotlib
    svg          pictures as files, and as SVG of pages
"""

from typing import TYPE_CHECKING

from replnet.faces import open_face

if TYPE_CHECKING:
    from replnet.show.pictures.description import describe, sketch
    from replnet.show.pictures.drawing import draw, svg
    from replnet.show.pictures.positions import layout
    from replnet.show.pictures.svg import DRAWING_FONT, TEXT_SEPARATOR, colours_used, figure_svg, has_font, standalone
    from replnet.show.pictures.svg import picture_format, write_picture
else:
    __all__, __dir__, __getattr__ = open_face(__name__)
