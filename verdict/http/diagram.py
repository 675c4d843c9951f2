"""The picture of an application, in five columns: senders, commands, aggregates, events, followers.

A policy is in the first column and in the last one, so every arrow points to the right.
"""

from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from statistics import fmean
from typing import NamedTuple

from verdict.operations.inspect.event_model import EventModel

CHAR, LINE = 7.3, 17  # the size of a character in page.css
PAD, BETWEEN, GAP = 9, 14, 56
TOP = 34  # below the headings
HEADINGS = ("sent by", "commands", "aggregate", "events", "followed by")

Point = tuple[float, float]
Lines = list[tuple[str, ...]]  # of each box of a column


class Box(NamedTuple):
    """A box with its lines; the first one is a name if it is `named`."""

    x: float
    y: float
    width: float
    lines: tuple[str, ...]
    named: bool = False

    @property
    def height(self) -> float:
        """How tall it is."""
        return _height(self.lines)

    @property
    def left(self) -> Point:
        """The end of arrows to the box."""
        return self.x, self.y + self.height / 2

    @property
    def right(self) -> Point:
        """The start of arrows from the box."""
        return self.x + self.width, self.y + self.height / 2

    def at(self, line: int) -> Point:
        """Return the start of a line's text."""
        return self.x + PAD, self.y + PAD + LINE * (line + 0.75)

    def entry(self, line: str | None) -> Point:
        """Return the end of an arrow to a line, or to the box."""
        if line is None:
            return self.left
        return self.x, self.y + PAD + LINE * (self.lines.index(line) + 0.5)


class Diagram(NamedTuple):
    """Boxes, and the paths of arrows between them."""

    width: float
    height: float
    headings: tuple[tuple[float, str], ...]
    boxes: tuple[Box, ...]
    paths: tuple[str, ...]


def picture(causes: EventModel) -> Diagram:
    """Lay out the boxes and arrows; the boxes of an aggregate are side by side."""
    askers: Lines = [(one.name, one.what) for one in causes.askers]
    followers: Lines = [(one.name, one.what) for one in causes.followers]
    topics: Lines = [(name, "state topic") for name in causes.states]
    columns: list[Lines] = [
        askers,
        [one.commands for one in causes.aggregates],
        [(one.name,) for one in causes.aggregates],
        [*(one.events for one in causes.aggregates), *topics],
        followers,
    ]
    widths = [_width(heading, each) for heading, each in zip(HEADINGS, columns, strict=True)]
    xs = [sum(widths[:place]) + GAP * place for place in range(len(widths))]
    bands = _bands(columns[1:4], xs[1:4], widths[1:4])
    names = [one.name for one in causes.aggregates]
    taking = dict(zip(names, bands[0], strict=True))
    giving = dict(zip([*names, *causes.states], bands[2], strict=True))
    # for each box of the first and the last column, the other ends of its arrows
    ends = [[taking[kind].entry(name) for kind, name in one.asks] for one in causes.askers]
    begins = [[giving[name].right for name in one.follows] for one in causes.followers]
    first = _near(askers, ends, xs[0], widths[0])
    last = _near(followers, begins, xs[4], widths[4])
    pairs = chain.from_iterable(zip(*pair, strict=False) for pair in pairwise(bands))
    arrows = [
        *((box.right, end) for box, to in zip(first, ends, strict=True) for end in to),
        *((one.right, two.left) for one, two in pairs),
        *((begin, box.left) for box, of in zip(last, begins, strict=True) for begin in of),
    ]
    boxes = (*first, *chain(*bands), *last)
    return Diagram(
        width=xs[-1] + widths[-1] + 2,
        height=max((one.y + one.height for one in boxes), default=TOP) + 2,
        headings=(*zip(xs, HEADINGS, strict=True),),
        boxes=boxes,
        paths=(*map(_path, arrows),),
    )


def _height(lines: Sequence[str]) -> float:
    return 2 * PAD + LINE * len(lines)


def _width(heading: str, boxes: Iterable[Sequence[str]]) -> float:
    texts = [heading, *(line for lines in boxes for line in lines)]
    return round(CHAR * max(map(len, texts)) + 2 * PAD)


def _bands(
    columns: Sequence[Lines], xs: Sequence[float], widths: Sequence[float]
) -> list[list[Box]]:
    """Return the three boxes of each aggregate at one height; below, topics of others."""
    placed: list[list[Box]] = [[] for _ in columns]
    y: float = TOP
    for row in range(max(map(len, columns), default=0)):
        tall = max(_height(column[row]) for column in columns if row < len(column))
        for place, column in enumerate(columns):
            if row < len(column):
                middle = y + (tall - _height(column[row])) / 2
                named = place == 1 or row >= len(columns[0])
                placed[place].append(Box(xs[place], middle, widths[place], column[row], named))
        y += tall + BETWEEN
    return placed


def _near(boxes: Lines, others: Sequence[Sequence[Point]], x: float, width: float) -> list[Box]:
    """Return each box as near to its arrows' other ends as there is room, from the top down."""
    wanted = [fmean([y for _, y in ends]) if ends else 0 for ends in others]
    placed: dict[int, Box] = {}
    free: float = TOP
    for place in sorted(range(len(boxes)), key=wanted.__getitem__):
        y = max(free, wanted[place] - _height(boxes[place]) / 2)
        placed[place] = Box(x, y, width, boxes[place], named=True)
        free = y + _height(boxes[place]) + BETWEEN
    return [placed[place] for place in range(len(boxes))]


def _path(arrow: tuple[Point, Point]) -> str:
    (x1, y1), (x2, y2) = arrow
    bent = (x2 - x1) / 2
    return f"M{x1:g} {y1:g}C{x1 + bent:g} {y1:g} {x2 - bent:g} {y2:g} {x2:g} {y2:g}"
