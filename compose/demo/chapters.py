"""The chapters, in the order in which they are told; a new one is a module and a line here."""

from collections.abc import Callable, Sequence

from compose.demo import (
    holders,
    load,
    measured,
    point_of_sale,
    programs,
    races,
    recent,
    refusal,
    second_try,
)
from compose.demo.story import Story

Chapter = Callable[[Story], None]

CHAPTERS: Sequence[Chapter] = (
    holders.tell,
    races.tell,
    load.tell,
    refusal.tell,
    programs.tell,
    recent.tell,
    point_of_sale.tell,
    second_try.tell,
    measured.tell,  # last, as the others hand it what they measured
)
