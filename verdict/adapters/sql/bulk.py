"""Rows in bulk: a name is said once for all of them."""

from collections.abc import Sequence
from operator import itemgetter
from typing import Any, NamedTuple

Values = dict[str, Any]
Row = tuple[Any, ...]


class BulkRows(NamedTuple):
    """Rows of one form.

    `names` are those of columns, or of parameters; each of `values` has as many, in their order.
    """

    names: Sequence[str]
    values: Sequence[Row]

    def in_order(self, names: Sequence[str]) -> Sequence[Row]:
        """Return the values of each row in the order of `names`, which may come twice."""
        if list(self.names) == list(names):
            return self.values
        at = [self.names.index(name) for name in names]
        if len(at) == 1:
            return [(row[at[0]],) for row in self.values]
        return [*map(itemgetter(*at), self.values)]

    def column(self, name: str) -> list[Any]:
        """Return what the rows have under a name."""
        return [*map(itemgetter(self.names.index(name)), self.values)]

    def named(self) -> list[Values]:
        """Return each row with its names."""
        return [dict(zip(self.names, row, strict=True)) for row in self.values]


def rows_of(rows: BulkRows | Sequence[Values]) -> BulkRows:
    """Return rows that may have come with their names, all with the same ones."""
    if isinstance(rows, BulkRows):
        return rows
    names = tuple(rows[0]) if rows else ()
    return BulkRows(names, [tuple([row[name] for name in names]) for row in rows])
