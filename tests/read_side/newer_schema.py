"""A release later: an event class has got a field with a default, and events a newer schema."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import reduce
from operator import or_
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest

from compose.application import app
from schemas.position import PositionTransferred
from verdict.model.application import Application
from verdict.model.recorded_event import RecordedEvent
from verdict.wire.schemas import files as catalogue
from verdict.wire.schemas.derive import RecordSchema
from verdict.wire.schemas.files import SchemaVersion

SUBJECT, NEWER_ID = "position_event", 9_000


class Noted(PositionTransferred):
    """The class of a release later."""

    note: str | None = None


Noted.__name__ = PositionTransferred.__name__


@contextmanager
def newer_schema() -> Iterator[Application]:
    """Let `PositionTransferred` have a `note`, in the class and in a newer version of the schema.

    Events are written with that version then, and those of the older one are still read.
    """
    position = app.aggregate("position")
    types = {**position.event_types, "PositionTransferred": Noted}
    members: tuple[Any, ...] = (*types.values(),)
    namespaced = RecordSchema("verdict.position", {"payload": members})
    schema: Any = namespaced.record(RecordedEvent)
    known = catalogue.versions_in

    def versions_in(place: Any) -> Iterator[SchemaVersion]:
        yield from known(place)
        if place == catalogue.of_the_aggregates(app):
            yield SchemaVersion(NEWER_ID, SUBJECT, 2, file)

    released = replace(position, events=reduce(or_, members))
    others = (one for one in app.aggregates if one is not position)
    with (
        TemporaryDirectory() as folder,
        pytest.MonkeyPatch.context() as patch,
    ):
        file = Path(folder, f"{SUBJECT}.v2.avsc")
        file.write_text(json.dumps(schema))
        patch.setattr(catalogue, "versions_in", versions_in)
        yield replace(app, aggregates=(released, *others))
