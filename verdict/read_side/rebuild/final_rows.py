"""The final rows of a projection, folded from records that are sorted by key."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice, starmap
from typing import Any, NamedTuple

from verdict.read_side.apply.overrides import amended
from verdict.read_side.live.decoding import RecordDecoder
from verdict.read_side.projections.projection import Builder, Gap, readable
from verdict.read_side.tables.interventions import Amendments

ROWS = 10_000  # at a time

RawValues = tuple[str, int, int, bytes | None, bytes | None]
"""The values of a `RawRecord`."""


class FoldedRows(NamedTuple):
    """Some final rows, with the values of the builder's `columns`, and gaps of aggregates."""

    values: Sequence[tuple[Any, ...]]
    gaps: Sequence[Gap]


@dataclass(frozen=True)
class FinalRows:
    """Folds records with the projection's own functions; holds the state of few keys."""

    decoder: RecordDecoder
    builder: Builder
    in_force: Amendments

    def __call__(self, records: Iterable[RawValues]) -> Iterator[FoldedRows]:
        """Yield the rows of all records, which are sorted by key and then by position.

        Raises:
            CannotApplyError: A record cannot be applied.
        """
        deliveries = amended(starmap(self.decoder.delivery, records), self.in_force)
        built = self.builder(readable(deliveries))
        while some := [*islice(built, ROWS)]:
            yield FoldedRows(
                [one.values for one in some if one.values is not None],
                [one.gap for one in some if one.gap is not None],
            )
