# SPDX-License-Identifier: GPL-2.0
"""A small SVG writer: shapes and words on a white card that suits light and dark pages."""

from __future__ import annotations

from xml.sax.saxutils import escape

FONT = "'Helvetica Neue', Helvetica, Arial, 'DejaVu Sans', sans-serif"
INK = "#1f2328"
FAINT_INK = "#59636e"
GRID = "#e4e7eb"
AXIS = "#8c959f"

# The radius of a marker, and its shapes as paths around 0,0.
SHAPES = {
    "circle": "M-4.5,0 a4.5,4.5 0 1 0 9,0 a4.5,4.5 0 1 0 -9,0 Z",
    "square": "M-4,-4 h8 v8 h-8 Z",
    "diamond": "M0,-5.5 L5.5,0 L0,5.5 L-5.5,0 Z",
    "triangle": "M0,-5.5 L5.2,4 L-5.2,4 Z",
    "down": "M0,5.5 L5.2,-4 L-5.2,-4 Z",
    "cross": "M-5,-3 L-3,-5 L0,-2 L3,-5 L5,-3 L2,0 L5,3 L3,5 L0,2 L-3,5 L-5,3 L-2,0 Z",
    "plus": "M-1.5,-5 h3 v3.5 h3.5 v3 h-3.5 v3.5 h-3 v-3.5 h-3.5 v-3 h3.5 Z",
}


def coordinate(value: float) -> str:
    """A coordinate, to a tenth."""
    return f"{value:.1f}".removesuffix(".0")


def text_width(text: str, size: float) -> float:
    """How wide the text may get, whichever of the fonts is there."""
    return 0.62 * size * len(text)


class Canvas:
    """A drawing that grows."""

    def __init__(self, width: float, height: float) -> None:
        self.width = width
        self.height = height
        self.shapes: list[str] = []

    def bar(self, x: float, y: float, width: float, height: float, colour: str) -> None:
        """A filled rectangle."""
        x, y, width, height = map(float, (x, y, width, max(height, 0)))
        self.shapes.append(f'<rect x="{coordinate(x)}" y="{coordinate(y)}" '
                           f'width="{coordinate(width)}" height="{coordinate(height)}" '
                           f'fill="{colour}"/>')

    def line(self, x1: float, y1: float, x2: float, y2: float, colour: str,
             width: float = 1) -> None:
        """A straight line."""
        self.shapes.append(f'<line x1="{coordinate(x1)}" y1="{coordinate(y1)}" '
                           f'x2="{coordinate(x2)}" y2="{coordinate(y2)}" '
                           f'stroke="{colour}" stroke-width="{width}"/>')

    def curve(self, points: list[tuple[float, float]], colour: str, dashes: str = "") -> None:
        """A line through points."""
        path = " ".join(f"{coordinate(x)},{coordinate(y)}" for x, y in points)
        dashed = f' stroke-dasharray="{dashes}"' if dashes else ""
        self.shapes.append(f'<polyline points="{path}" fill="none" stroke="{colour}" '
                           f'stroke-width="2.5" stroke-linejoin="round"{dashed}/>')

    def marker(self, x: float, y: float, shape: str, colour: str) -> None:
        """A point of a curve."""
        self.shapes.append(f'<path transform="translate({coordinate(x)} {coordinate(y)})" '
                           f'd="{SHAPES[shape]}" fill="{colour}" stroke="#ffffff"/>')

    def text(self, x: float, y: float, text: str, size: float = 13, anchor: str = "start",
             colour: str = INK, bold: bool = False) -> None:
        """A line of text; y is its base line."""
        weight = ' font-weight="600"' if bold else ""
        self.shapes.append(f'<text x="{coordinate(x)}" y="{coordinate(y)}" font-size="{size:g}" '
                           f'text-anchor="{anchor}" fill="{colour}"{weight}>{escape(text)}</text>')

    def render(self, title: str, description: str) -> str:
        """The whole file."""
        width, height = coordinate(self.width), coordinate(self.height)
        return "\n".join([
            "<!-- SPDX-License-Identifier: GPL-2.0 -->",
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}"',
            f'     viewBox="0 0 {width} {height}" role="img"',
            f'     font-family="{FONT}">',
            f"<title>{escape(title)}</title>",
            f"<desc>{escape(description)}</desc>",
            f'<rect width="{width}" height="{height}" rx="8" fill="#ffffff"/>',
            *self.shapes,
            "</svg>",
        ]) + "\n"
