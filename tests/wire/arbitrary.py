"""Any record of every type that crosses a wire, for hypothesis: what its annotations allow."""

from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import chain
from types import NoneType, UnionType
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from hypothesis import strategies as st
from pydantic import BaseModel

from commands.order import ModifyOrder
from tests.application import APPLICATION
from verdict.model.command import Command
from verdict.model.command_envelope import CommandEnvelope, Expectation
from verdict.model.message import END_OF_TIME, LARGEST, Event
from verdict.model.recorded_event import RecordedEvent
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.progress_record import ProgressRecord
from verdict.wire.response import Rejection, Response
from verdict.wire.schemas.derive import field_names

NO_NUL = st.characters(exclude_characters="\0", codec="utf-8")
TEXTS = st.text(NO_NUL, min_size=1, max_size=40)
INSTANTS = st.integers(0, END_OF_TIME)
COUNTS = st.integers(0, LARGEST)
POSITIVE = st.integers(1, LARGEST)
HASHES = st.binary(min_size=32, max_size=32)
EXPECTED = COUNTS | st.sampled_from(Expectation)
BOUNDS = ("ge", "gt", "le", "min_length")
PLAIN = {str: TEXTS, bool: st.booleans(), bytes: st.binary(max_size=60), NoneType: st.none()}


def _values(annotation: Any, marks: Iterable[Any] = ()) -> st.SearchStrategy[Any]:
    """Return the values of a field that its type and its bounds allow."""
    origin, parts = get_origin(annotation), get_args(annotation)
    if origin is Annotated:
        return _values(parts[0], (*parts[1:], *marks))
    if origin in (Union, UnionType):
        return st.one_of([_values(part, marks) for part in parts])
    if origin is Literal:
        return st.sampled_from(parts)
    if origin is list:
        least = _bounds(marks).get("min_length", 0)
        return st.lists(_values(parts[0]), min_size=least, max_size=3)
    if origin is dict:
        return st.dictionaries(TEXTS, _values(parts[1]), max_size=3)
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return st.sampled_from(annotation)
    if annotation is int:
        return _integers(_bounds(marks))
    return PLAIN[annotation] if annotation in PLAIN else anything(annotation)


def _bounds(marks: Iterable[Any]) -> dict[str, int]:
    every = chain.from_iterable(getattr(one, "metadata", [one]) for one in marks)
    return {name: getattr(one, name) for one in every for name in BOUNDS if hasattr(one, name)}


def _integers(bounds: dict[str, int]) -> st.SearchStrategy[int]:
    least = bounds["gt"] + 1 if "gt" in bounds else bounds.get("ge", -LARGEST - 1)
    return st.integers(least, bounds.get("le", LARGEST))


def anything(kind: type[Any], **others: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Return any value of a class with fields; `others` replaces what its annotations allow."""
    fields = {name: _values(*hint) for name, hint in _hints(kind) if name not in others}
    return st.builds(kind, **fields, **others)


def _hints(kind: type[Any]) -> Iterator[tuple[str, tuple[Any, Iterable[Any]]]]:
    """Yield the name of each field, and its type with its marks."""
    if issubclass(kind, BaseModel):
        for name, field in kind.model_fields.items():
            yield name, (field.annotation, field.metadata)
    else:
        hints = get_type_hints(kind, include_extras=True)
        yield from ((name, (hints[name], ())) for name in field_names(kind))


def events(aggregate_type: str) -> st.SearchStrategy[Event]:
    """Return any event of an aggregate."""
    return st.one_of(*map(anything, APPLICATION.aggregate(aggregate_type).event_types.values()))


def commands(aggregate_type: str) -> st.SearchStrategy[Command]:
    """Return any command to an aggregate."""
    return st.one_of(*map(_command, APPLICATION.aggregate(aggregate_type).command_types.values()))


def _command(kind: type[Command]) -> st.SearchStrategy[Command]:
    if kind is ModifyOrder:  # it needs one of its fields
        price = st.none() | POSITIVE
        return st.builds(ModifyOrder, quantity=POSITIVE, limit_price_cents=price) | st.builds(
            ModifyOrder, limit_price_cents=POSITIVE
        )
    return anything(kind)


def envelopes() -> st.SearchStrategy[CommandEnvelope]:
    """Return any envelope, its payload left empty."""
    return anything(CommandEnvelope, expected_version=EXPECTED, payload=st.just({}))


AGGREGATES = st.sampled_from(APPLICATION.aggregate_types)
RECORDED_EVENTS = AGGREGATES.flatmap(
    lambda name: anything(RecordedEvent, aggregate_type=st.just(name), payload=events(name))
)
RESPONSES = anything(Response, decided_at=INSTANTS)
REJECTIONS = anything(Rejection, decided_at=INSTANTS)
DEAD_LETTERS = anything(DeadLetter)
PROGRESS_RECORDS = anything(ProgressRecord)
