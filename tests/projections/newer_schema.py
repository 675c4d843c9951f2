"""A release later: an event class has got a field with a default, and events a newer schema."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import reduce
from operator import or_
from typing import Any

import pytest

from schemas import position
from schemas.position import PositionTransferred
from verdict.model import registry
from verdict.model.recorded_event import RecordedEvent
from verdict.wire import codec, records
from verdict.wire import schema_files as catalogue
from verdict.wire.avro_schema import RecordSchema
from verdict.wire.schema_files import SchemaVersion

SUBJECT, NEWER_ID = "position_event", 9_000
CACHES: tuple[Any, ...] = (
    registry.event_types, records._event_type, catalogue.by_id, catalogue.newest, codec.codec,
    codec._parsed,
)  # fmt: skip


class Noted(PositionTransferred):
    """The class of a release later."""

    note: str | None = None


Noted.__name__ = PositionTransferred.__name__


@contextmanager
def newer_schema() -> Iterator[None]:
    """Let `PositionTransferred` have a `note`, in the class and in a newer version of the schema.

    Events are written with that version then, and those of the older one are still read.
    """
    types = {**registry.event_types("position"), "PositionTransferred": Noted}
    members: tuple[Any, ...] = (*types.values(),)
    namespaced = RecordSchema("verdict.position", {"payload": members})
    schema: Any = namespaced.record(RecordedEvent)
    newer = SchemaVersion(NEWER_ID, SUBJECT, 2, schema)
    known = catalogue.versions_in

    def versions_in(place: Any) -> Iterator[SchemaVersion]:
        yield from known(place)
        yield newer

    try:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(catalogue, "versions_in", versions_in)
            patch.setattr(position, "PositionEvent", reduce(or_, members))
            _forget()
            yield
    finally:
        _forget()


def _forget() -> None:
    for cached in CACHES:
        cached.cache_clear()
