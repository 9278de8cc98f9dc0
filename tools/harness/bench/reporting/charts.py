# SPDX-License-Identifier: GPL-2.0
"""Three kinds of charts: bars in groups, standing or lying, and curves."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Callable, Optional, Sequence

from .svg import AXIS, FAINT_INK, GRID, Canvas, text_width
from .text import number

WIDTH = 860
TITLE = 18
LABEL = 13
SMALL = 12
LINE = 18		# from one line of labels to the next
TOP = 72		# title and subtitle
MARGIN = 24


@dataclass
class Chart:
    """What all charts say."""

    title: str
    subtitle: str
    x_label: str
    y_label: str


@dataclass
class Series:
    """Figures that belong together; curves may have gaps."""

    label: str
    values: Sequence[Optional[float]]
    colour: str
    marker: str = "circle"
    dashes: str = ""

    @property
    def measured(self) -> list[tuple[int, float]]:
        """The figures there are, and which they are."""
        return [(i, value) for i, value in enumerate(self.values) if value is not None]

    def last(self, show: Callable[[float], str]) -> str:
        """The name and the last figure."""
        return f"{self.label}: {show(self.measured[-1][1])}"


def all_values(series: list[Series]) -> list[float]:
    """Every figure of a chart."""
    return [value for one in series for _, value in one.measured]


@dataclass
class Scale:
    """Figures to coordinates, linear or logarithmic, and the ticks of an axis."""

    low: float
    high: float
    start: float
    end: float
    ticks: list[float]
    log: bool = False

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.log:
            value, low, high = math.log10(max(value, low)), math.log10(low), math.log10(high)
        share = (value - low) / (high - low) if high > low else 0.5
        return self.start + (self.end - self.start) * share


def linear_scale(most: float, start: float, end: float) -> Scale:
    """From 0 to a round figure that is not below most."""
    most = most or 1.0
    raw = most / 5
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * power for factor in (1, 2, 2.5, 5, 10) if factor * power >= raw * 0.999)
    count = math.ceil(most / step * 0.999) or 1
    return Scale(0, count * step, start, end, [i * step for i in range(count + 1)])


def log_scale(least: float, most: float, start: float, end: float) -> Scale:
    """From a power of ten to another."""
    low = math.floor(math.log10(least))
    high = max(math.ceil(math.log10(most)), low + 1)
    ticks = [10.0 ** power for power in range(low, high + 1)]
    return Scale(ticks[0], ticks[-1], start, end, ticks, log=True)


def tick_label(tick: float) -> str:
    """A tick's figure, without digits that say nothing."""
    return f"{tick:,.10g}"


def begin(chart: Chart, height: float) -> Canvas:
    """A canvas with the chart's title on it."""
    canvas = Canvas(WIDTH, height)
    canvas.text(MARGIN, 34, chart.title, TITLE, bold=True)
    canvas.text(MARGIN, 56, chart.subtitle, LABEL, colour=FAINT_INK)
    return canvas


def finish(canvas: Canvas, chart: Chart) -> str:
    """The chart as a file."""
    return canvas.render(chart.title, chart.subtitle)


def draw_legend(canvas: Canvas, series: list[Series], y: float) -> None:
    """What the colours of bars mean, in one line."""
    x = float(MARGIN)
    for one in series:
        canvas.bar(x, y - 11, 13, 13, one.colour)
        canvas.text(x + 19, y, one.label, LABEL)
        x += 19 + text_width(one.label, LABEL) + 14


def draw_y_axis(canvas: Canvas, scale: Scale, left: float, right: float, label: str) -> None:
    """Horizontal grid lines with their figures."""
    for tick in scale.ticks:
        y = scale(tick)
        canvas.line(left, y, right, y, AXIS if tick == scale.ticks[0] else GRID)
        canvas.text(left - 8, y + 4, tick_label(tick), SMALL, "end", FAINT_INK)
    canvas.text(MARGIN, scale.end - 16, label, SMALL, colour=FAINT_INK)


def standing_bars(chart: Chart, groups: list[str], series: list[Series],
                  show: Callable[[float], str] = number) -> str:
    """Bars in groups, each with its figure on top."""
    height, left, right = 440, MARGIN + 44, WIDTH - MARGIN
    canvas = begin(chart, height)
    draw_legend(canvas, series, TOP + 14)
    scale = linear_scale(max(all_values(series)), height - 62, TOP + 66)
    draw_y_axis(canvas, scale, left, right, chart.y_label)
    group_width = (right - left) / len(groups)
    bar_width = min(56, 0.84 * group_width / len(series))
    for i, group in enumerate(groups):
        canvas.text(left + (i + 0.5) * group_width, height - 40, group, LABEL, "middle")
    for j, one in enumerate(series):
        for i, value in one.measured:
            x = left + (i + 0.5) * group_width + (j - len(series) / 2) * bar_width
            y = scale(value)
            canvas.bar(x + 1.5, y, bar_width - 3, scale.start - y, one.colour)
            canvas.text(x + bar_width / 2, y - 5, show(value), SMALL, "middle")
    canvas.text((left + right) / 2, height - 16, chart.x_label, SMALL, "middle", FAINT_INK)
    return finish(canvas, chart)


def lying_bars(chart: Chart, groups: list[str], series: list[Series],
               show: Callable[[float], str] = number) -> str:
    """Bars in groups, one group under the other, each with its figure at the end."""
    bar, gap = 15, 14
    top = TOP + 34
    group_height = len(series) * bar + gap
    height = top + len(groups) * group_height + 54
    left = MARGIN + max(text_width(group, LABEL) for group in groups)
    canvas = begin(chart, height)
    draw_legend(canvas, series, TOP + 14)
    scale = linear_scale(max(all_values(series)), left, WIDTH - MARGIN - 44)
    bottom = top + len(groups) * group_height
    for tick in scale.ticks:
        canvas.line(scale(tick), top, scale(tick), bottom, GRID if tick else AXIS)
        canvas.text(scale(tick), bottom + 18, tick_label(tick), SMALL, "middle",
                    FAINT_INK)
    for i, group in enumerate(groups):
        canvas.text(left - 10, top + (i + 0.5) * group_height + 5, group, LABEL, "end")
    for j, one in enumerate(series):
        for i, value in one.measured:
            y = top + i * group_height + gap / 2 + j * bar
            canvas.bar(left, y + 1, scale(value) - left, bar - 2, one.colour)
            canvas.text(scale(value) + 5, y + 12, show(value), SMALL)
    canvas.text((left + WIDTH - MARGIN) / 2, height - 14, chart.x_label, SMALL, "middle",
                FAINT_INK)
    return finish(canvas, chart)


def spread(wanted: list[float], gap: float, low: float, high: float) -> list[float]:
    """Places near those wanted, in their order, no two closer than gap, low to high."""
    order = sorted(range(len(wanted)), key=lambda i: wanted[i])
    places = [0.0] * len(wanted)
    below = low - gap
    for i in order:
        below = places[i] = max(wanted[i], below + gap)
    above = high + gap
    for i in reversed(order):
        above = places[i] = min(places[i], above - gap)
    return places


def draw_x_ticks(canvas: Canvas, positions: list[float], labels: list[str], y: float) -> None:
    """The figures below the points, but for those that would touch the one before."""
    free = -math.inf
    for x, label in zip(positions, labels):
        half = text_width(label, SMALL) / 2
        if x - half > free:
            canvas.text(x, y, label, SMALL, "middle", FAINT_INK)
            free = x + half + 4


def draw_end_labels(canvas: Canvas, series: list[Series], scale: Scale, places: list[float],
                    show: Callable[[float], str]) -> None:
    """The name and last figure of each curve, at its end."""
    right = places[-1]
    ends = [scale(one.measured[-1][1]) for one in series]
    for one, end, y in zip(series, ends, spread(ends, LINE, scale.end, scale.start)):
        canvas.line(places[one.measured[-1][0]] + 8, end, right + 8, end, AXIS, 0.5)
        canvas.line(right + 8, end, right + 24, y, one.colour)
        canvas.text(right + 28, y + 4, one.last(show), LABEL)


def curves(chart: Chart, positions: list[float], labels: list[str], series: list[Series],
           log_x: bool = True, log_y: bool = False,
           show: Callable[[float], str] = number) -> str:
    """Curves through the figures at the same positions."""
    height = 420
    room = max(text_width(one.last(show), LABEL) for one in series)
    right = WIDTH - MARGIN - room - 28
    canvas = begin(chart, height)
    values = all_values(series)
    place = (height - 62.0, TOP + 32.0)
    scale = (log_scale(min(values), max(values), *place) if log_y
             else linear_scale(max(values), *place))
    left = MARGIN + 8 + max(text_width(tick_label(tick), SMALL) for tick in scale.ticks)
    draw_y_axis(canvas, scale, left, right, chart.y_label)
    across = Scale(positions[0], positions[-1], left + 20, right - 8, positions, log_x)
    places = [across(position) for position in positions]
    for x in places:
        canvas.line(x, scale.start, x, scale.start + 5, AXIS)
    draw_x_ticks(canvas, places, labels, height - 40)
    for one in series:
        points = [(places[i], scale(value)) for i, value in one.measured]
        canvas.curve(points, one.colour, one.dashes)
        for x, y in points:
            canvas.marker(x, y, one.marker, one.colour)
    draw_end_labels(canvas, series, scale, places, show)
    canvas.text((left + right) / 2, height - 16, chart.x_label, SMALL, "middle", FAINT_INK)
    return finish(canvas, chart)
