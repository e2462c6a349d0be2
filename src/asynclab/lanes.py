"""Draw spans in lanes, one below the other, and say in a sentence what the drawing shows.

Rests on ``figures`` for the style; ``timeline`` uses it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from asynclab.figures import GREY, INK, PALETTE, SMALL_PT, Drawing, add_legend, drawing, readable
from asynclab.profilers import WAIT, Span

OTHERS = "others"
#: Black or white, whichever is read better on a colour.
TEXT_ON = {**dict.fromkeys((*PALETTE, GREY), "#111111"), PALETTE[0]: "#ffffff"}

_EMPTY = {"facecolor": "none", "edgecolor": INK, "linewidth": 0.6, "linestyle": (0, (3, 2))}
_LETTER = 0.62  # the width of a letter, in sizes of its text
_HEIGHT = 0.64
_NAMES_TOLD = 6  # of a lane, in its description

Lanes = Mapping[str, Sequence[Span]]


def draw_lanes(lanes: Lanes, title: str | None = None) -> Drawing:
    """Draw one lane below the other, the time to the right.

    Waiting is an empty bar. The four names that took the most time have a colour each, the others share a grey. A name
    that fits into none of its bars stands below. A bar is never thinner than a hair, so that it is seen. What is too
    short and too close to be seen apart is one bar, named after what took most of its time, and lower the more of its
    time was idle.

    Args:
        lanes: Spans by the name of their lane, in order.
        title: A title above.

    Returns:
        A drawing that describes itself.
    """
    figure, axes = drawing(height=0.8 + 0.45 * len(lanes) + 0.25 * bool(title))
    end_s = _end_s(lanes) or 1e-6
    hair_s = end_s / (72 * (figure.get_figwidth() - 0.4 - 0.09 * max(map(len, lanes), default=0)))  # a point
    colors = _colors(lanes)
    keys: dict[str, Any] = {}
    labelled: set[str] = set()
    for row, spans in enumerate(lanes.values()):
        for span, share in _told_apart(spans, 2 * hair_s):
            color = colors.get(span.name, GREY)
            look = _EMPTY if span.name == WAIT else {"facecolor": color}
            width_s = max(span.end_s - span.start_s - 0.7 * hair_s, 0.7 * hair_s)  # leaves a gap to the next one
            bar = axes.barh(row, 1e3 * width_s, left=1e3 * span.start_s, height=_HEIGHT * max(share, 0.1), **look)
            keys.setdefault(span.name if span.name in colors else OTHERS, bar[0])
            if share == 1 and _LETTER * SMALL_PT * (len(span.name) + 1) * hair_s < width_s:
                ink = INK if span.name == WAIT else TEXT_ON[color]
                axes.bar_label(bar, [span.name], label_type="center", fontsize=SMALL_PT, color=ink)
                labelled.add(span.name)
    axes.set(yticks=range(len(lanes)), yticklabels=lanes, xlabel="time in ms")
    axes.set(xlim=(0, 1e3 * end_s), ylim=(len(lanes) - 0.5, -0.5))
    axes.set_title(title or "", loc="left")
    axes.spines["left"].set_visible(False)
    if names := sorted(keys.keys() - labelled, key=[*colors, OTHERS].index):
        add_legend(figure, handles=[keys[name] for name in names], labels=names)
    return Drawing(figure, described(lanes, title))


def described(lanes: Lanes, title: str | None = None) -> str:
    """Say what the drawing of lanes shows.

    Returns:
        Sentences such as "Timeline, 73.2 ms long. In the lane frontend: wait once, 73 ms; mm 10 times, 0.11 ms."
    """
    told = []
    for lane, spans in lanes.items():
        counts, totals = Counter(span.name for span in spans), _totals(spans)
        parts = [f"{name} {_times(counts[name])}, {readable(1e3 * total)} ms" for name, total in totals[:_NAMES_TOLD]]
        more = f"; {len(totals) - _NAMES_TOLD} more names" if len(totals) > _NAMES_TOLD else ""
        told.append(f" In the lane {lane}: {'; '.join(parts) or 'nothing'}{more}.")
    return f"{title or 'Timeline'}, {readable(1e3 * _end_s(lanes))} ms long.{''.join(told)}"


def _times(count: int) -> str:
    return "once" if count == 1 else f"{count} times"


def _end_s(lanes: Lanes) -> float:
    return max((span.end_s for spans in lanes.values() for span in spans), default=0.0)


def _totals(spans: Iterable[Span]) -> list[tuple[str, float]]:
    """How long each name took in all, the longest first."""
    totals: dict[str, float] = {}
    for span in spans:
        totals[span.name] = totals.get(span.name, 0.0) + span.end_s - span.start_s
    return sorted(totals.items(), key=lambda total: -total[1])


def _colors(lanes: Lanes) -> dict[str, str]:
    """Colours for the names that took the most time, in the order in which they first appear."""
    spans = [span for spans in lanes.values() for span in spans if span.name != WAIT]
    longest = {name for name, _ in _totals(spans)[: len(PALETTE)]}
    names = dict.fromkeys(span.name for span in spans if span.name in longest)
    return {WAIT: INK, **dict(zip(names, PALETTE, strict=False))}


def _told_apart(spans: Iterable[Span], least_s: float) -> Iterator[tuple[Span, float]]:
    """Join short spans that follow each other closely; thousands of bars would make a large file and the same picture.

    Returns:
        The spans, each with the share of its time that was not idle.
    """
    group: list[Span] = []
    for span in spans:
        short = span.end_s - span.start_s < least_s
        if group and not (short and span.start_s - group[-1].end_s < least_s):
            yield _joined(group)
            group = []
        group.append(span)
        if not short:
            yield _joined(group)
            group = []
    if group:
        yield _joined(group)


def _joined(group: Sequence[Span]) -> tuple[Span, float]:
    if len(group) == 1:
        return group[0], 1.0
    totals = _totals(group)
    whole = Span(totals[0][0], group[0].start_s, group[-1].end_s)
    return whole, sum(total for _, total in totals) / max(whole.end_s - whole.start_s, 1e-12)
