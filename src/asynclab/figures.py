"""Draw in one restrained style that is read on light and on dark pages, and never without a description.

Rests on Matplotlib, which is imported when something is drawn. Chapters use `bars`, `lines` and ``timeline``, and
`drawing` for what these cannot draw.

No grey has a contrast of 4.5 to 1 both on white and on a nearly black page, whose own contrast of 18 to 1 is less than
4.5 times 4.5. So inside of a page an SVG takes the colour of the text around it, and as an image of its own it has one
ink for light and one for dark. Browsers choose by the `color-scheme` of the element that shows the image, or by that
of the system where a page sets none; should they choose wrongly, 3 to 1 remains.
"""

from __future__ import annotations

import html
import io
import itertools
import math
import re
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from importlib import import_module
from typing import Any

from asynclab.errors import UndescribedDrawingError

#: Text and axes on a light page; also the colour to draw them with.
INK = "#6b727a"
#: Text and axes on a dark page.
INK_ON_DARK = "#8b939c"
#: Colours of data, in their order: those of Okabe and Ito that stand out both from white and from black.
PALETTE = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
#: The colour of what needs none of its own.
GREY = "#7f7f7f"
#: Size of small text in points.
SMALL_PT = 9

_DASHES = ("-", "--", "-.", ":")
_MARKERS = ("o", "s", "^", "D")
_MARKED_UP_TO = 24  # points of a line
_FEWEST_TICKS = 3  # with a label, or a logarithmic axis cannot be read
_THOUSANDS = "\N{NARROW NO-BREAK SPACE}"

_STYLE: dict[str, Any] = {
    "font.family": "sans-serif",
    "font.sans-serif": ["DejaVu Sans", "Verdana"],  # of nearly the same width: what fits in one fits in the other
    "font.size": 10,
    "text.color": INK,
    "axes.edgecolor": INK,
    "axes.labelcolor": INK,
    "axes.titlecolor": INK,
    "axes.titlesize": 11,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "xtick.color": INK,
    "ytick.color": INK,
    "grid.color": INK,
    "grid.alpha": 0.3,
    "grid.linewidth": 0.6,
    "legend.fontsize": SMALL_PT,
    "legend.frameon": False,
    "hatch.color": INK,
    "hatch.linewidth": 0.5,
    "svg.fonttype": "none",  # text stays text: small, and it can be searched and read aloud
    "svg.hashsalt": "asynclab",  # else the ids differ each time, and with them the file
}


@dataclass(frozen=True)
class Drawing:
    """A figure of Matplotlib that shows itself in a notebook, once, as an SVG image with a description.

    Attributes:
        figure: The figure.
        alt: What it shows, as a sentence, for those who do not see it.
    """

    figure: Any = field(repr=False)
    alt: str

    def __post_init__(self) -> None:
        """Check the description, and take the figure from pyplot, which would show it a second time.

        Raises:
            UndescribedDrawingError: If ``alt`` is no sentence (a ``ValueError``).
        """
        if not isinstance(self.alt, str) or not re.fullmatch(r"\s*\S+\s.*[.!?]\s*", self.alt, re.DOTALL):
            raise UndescribedDrawingError(
                f"a drawing is described by {self.alt!r:.80} (allowed: a sentence, with its full stop).\n"
                "Say what it shows, for example alt='Waiting each time takes twice as long as waiting once.'"
            )
        if pyplot := sys.modules.get("matplotlib.pyplot"):
            pyplot.close(self.figure)

    @cached_property  # drawn a second time, Matplotlib's layout would move by fractions of a point
    def svg(self) -> str:
        """The image as text, drawn when it is first asked for; the same text in every process."""
        matplotlib = import_module("matplotlib")
        # What a chapter added after `drawing` is in Matplotlib's own style.
        for text in self.figure.findobj(import_module("matplotlib.text").Text):
            if matplotlib.colors.to_hex(text.get_color()) == "#000000":
                text.set_color(INK)
        for legend in self.figure.findobj(import_module("matplotlib.legend").Legend):
            legend.set_frame_on(False)
        file = io.BytesIO()
        with matplotlib.rc_context(_STYLE):
            self.figure.savefig(file, format="svg", transparent=True, metadata={"Date": None})
        return _adapted(file.getvalue().decode(), self.alt)

    def _repr_svg_(self) -> str:
        return self.svg

    def _repr_mimebundle_(self, **_: object) -> tuple[dict[str, str], dict[str, dict[str, str]]]:
        return {"image/svg+xml": self.svg, "text/plain": self.alt}, {"image/svg+xml": {"alt": self.alt}}


def _adapted(svg: str, alt: str) -> str:
    """Cut what no page needs, add the description, and let the ink follow the page."""
    svg = re.sub(r"\s*<metadata>.*?</metadata>", "", svg[svg.index("<svg") :], flags=re.DOTALL)
    # The image is `svg:root` only where it stands by itself; inside of a page the root is the page's.
    dark = f"@media (prefers-color-scheme:dark){{svg:root{{color:{INK_ON_DARK}}}}}"
    style = f"<style>svg:root{{color:{INK}}}{dark}</style>"
    head = f'<svg role="img" aria-label="{html.escape(alt.strip())}"'
    svg = svg.replace(INK, "currentColor")
    return re.sub(r"<svg\b([^>]*)>", lambda tag: f"{head}{tag[1]}>\n {style}", svg, count=1)


def drawing(width: float = 7, height: float = 3) -> tuple[Any, Any]:
    """Make an empty figure in the style of the course, to be drawn in and then wrapped in a `Drawing`.

    Args:
        width: In inches; 7 fill a column of text.
        height: In inches.

    Returns:
        Matplotlib's figure, which is none of pyplot's, and its axes.
    """
    cycler = import_module("cycler").cycler
    with import_module("matplotlib").rc_context(_STYLE):
        figure = import_module("matplotlib.figure").Figure(figsize=(width, height), layout="constrained")
        axes = figure.subplots()
        axes.set_prop_cycle(cycler(color=PALETTE) + cycler(linestyle=_DASHES))
        axes.spines[:].set_alpha(0.6)
        axes.tick_params(length=0, pad=5, labelsize=SMALL_PT)
    return figure, axes


def bars(
    labels: Sequence[str], values: Sequence[Any], unit: str, *, stacked: Sequence[str] | None = None, alt: str
) -> Drawing:
    """Draw one horizontal bar below the other, with the values beside them.

    Args:
        labels: What each bar stands for, from top to bottom.
        values: One number a bar; if stacked, one sequence of numbers a bar.
        unit: The unit of the values, such as ``ms``; empty if they have none.
        stacked: The names of the parts that a bar is made of.
        alt: What the drawing shows, as a sentence.

    Returns:
        The drawing.

    Raises:
        ValueError: If there are not as many values as labels, or as many numbers as parts.
    """
    parts = stacked or [""]
    rows = [tuple(value) if stacked else (value,) for value in values]
    places, ends = range(len(labels)), [0.0] * len(labels)
    figure, axes = drawing(height=0.3 + 0.4 * len(labels) + 0.3 * bool(stacked))
    for part, column, color in zip(parts, zip(*rows, strict=True), PALETTE[: len(parts)], strict=True):
        axes.barh(places, column, left=ends, height=0.62, color=color, label=part)
        ends = [end + value for end, value in zip(ends, column, strict=True)]
    for place, end in zip(places, ends, strict=True):
        axes.annotate(f"{readable(end)} {unit}", (end, place), (5, -1), textcoords="offset points", va="center")
    axes.set(yticks=places, yticklabels=labels, xticks=[], xlim=(0, 1.12 * max(ends)))
    axes.invert_yaxis()
    axes.spines["bottom"].set_visible(False)
    if stacked:
        add_legend(figure)
    return Drawing(figure, alt)


def lines(  # noqa: PLR0913 - six of the seven are named in a call
    series: Mapping[str, tuple[Sequence[float], Sequence[float]]],
    *,
    xlabel: str,
    ylabel: str,
    log: tuple[bool, bool] = (False, False),
    marks: Mapping[str, float] | None = None,
    alt: str,
) -> Drawing:
    """Draw lines, with a marker at each point if the points are few.

    Args:
        series: For each line, by its name, where its points are and what their values are.
        xlabel: What is drawn to the right, with its unit.
        ylabel: What is drawn upwards, with its unit.
        log: Whether the axis to the right, and the axis upwards, is logarithmic. On the latter, values of 0 or less are
            left out.
        marks: Places on the axis to the right, by their names, that get an upright line.
        alt: What the drawing shows, as a sentence.

    Returns:
        The drawing.
    """
    figure, axes = drawing()
    for (name, (xs, ys)), marker in zip(series.items(), itertools.cycle(_MARKERS), strict=False):
        # What a logarithmic axis has no place for would draw the line out of the picture and back.
        shown = [y if y > 0 or not log[1] else math.nan for y in ys]
        axes.plot(xs, shown, label=name, marker=marker if len(xs) <= _MARKED_UP_TO else "", markersize=4.5)
    for name, place in (marks or {}).items():
        axes.axvline(place, color=INK, linewidth=1, linestyle=(0, (1, 2)))
        where = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points", "ha": "center"}
        axes.annotate(name, (place, 1), (0, 3), fontsize=SMALL_PT, **where)
    scales = ["log" if logarithmic else "linear" for logarithmic in log]
    axes.set(xlabel=xlabel, ylabel=ylabel, xscale=scales[0], yscale=scales[1])
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(lambda value, _: readable(value))
    axes.minorticks_off()
    if log[1] and len(_in_sight(axes)) < _FEWEST_TICKS:
        axes.yaxis.set_major_locator(import_module("matplotlib.ticker").LogLocator(subs=(1, 2, 5)))
    axes.grid(axis="y")
    if not log[1]:
        axes.set_ylim(bottom=0)
    if len(series) > 1:
        add_legend(figure)
    return Drawing(figure, alt)


def _in_sight(axes: Any) -> list[float]:
    """The places on the axis upwards that have a label and are in the picture."""
    lowest, highest = axes.get_ylim()
    return [place for place in axes.get_yticks() if lowest <= place <= highest]


def add_legend(figure: Any, **options: Any) -> None:
    """Name what is drawn, in rows below the figure, where nothing is covered."""
    with import_module("matplotlib").rc_context(_STYLE):
        figure.legend(loc="outside lower left", ncols=4, handlelength=1.6, **options)


def readable(number: float) -> str:
    """Write a number for a figure: three digits, or a whole number in groups of three digits."""
    return f"{number:.3g}" if abs(number) < 999.5 else f"{number:,.0f}".replace(",", _THOUSANDS)  # noqa: PLR2004
