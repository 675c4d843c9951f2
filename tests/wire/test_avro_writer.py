"""What is written by our own hand is what the library writes that reads it."""

from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.wire.avro_values import COLOUR, EMPTY, KINDS, PAIR, library, record
from verdict.wire.avro.writer import avro_writer


def as_object(value: Any) -> Any:
    if isinstance(value, dict) and value and all(name.startswith("f") for name in value):
        return SimpleNamespace(**{name: as_object(part) for name, part in value.items()})
    return value


@given(st.sampled_from(KINDS).flatmap(lambda kind: st.tuples(st.just(kind[0]), kind[1])))
def test_the_bytes_are_those_of_the_library(case: tuple[Any, Any]) -> None:
    schema, value = case
    wrapped = record("Wrapped", schema)

    assert avro_writer(wrapped)(as_object({"f0": value})) == library(wrapped, {"f0": value})


def test_a_member_of_a_union_of_records_is_chosen_by_the_name_of_its_class() -> None:
    class Pair:
        f0, f1 = 7, "seven"

    class Empty:
        pass

    union = record("Outer", [EMPTY, PAIR])
    write = avro_writer(union)

    assert write(SimpleNamespace(f0=Empty())) == library(union, {"f0": ("x.Empty", {})})
    pair = ("x.Pair", {"f0": 7, "f1": "seven"})
    assert write(SimpleNamespace(f0=Pair())) == library(union, {"f0": pair})


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ("long", 1.0),
        ("long", True),
        ("long", 2**63),
        ("long", -(2**63) - 1),
        ("long", None),
        ("string", b"bytes"),
        ("string", 5),
        ("bytes", "text"),
        ("boolean", 1),
        ("null", 0),
        (COLOUR, "BLUE"),
        (["null", "long"], "1"),
        (["null", "long", COLOUR], 1.5),
        ({"type": "array", "items": "long"}, ["1"]),
        ({"type": "map", "values": ["long", "string"]}, {"a": None}),
        ([EMPTY, PAIR], SimpleNamespace()),
        (PAIR, SimpleNamespace(f0=1)),
    ],
)
def test_what_does_not_fit_its_schema_is_refused_and_not_coerced(schema: Any, value: Any) -> None:
    with pytest.raises((ValueError, TypeError, LookupError, AttributeError)):
        avro_writer(record("Wrapped", schema))(SimpleNamespace(f0=value))


@pytest.mark.parametrize(
    "schema", ["double", {"type": "fixed", "name": "F", "size": 2}, ["null", "long", "x.Unknown"]]
)
def test_a_type_that_none_of_our_classes_leads_to_is_refused_when_compiled(schema: Any) -> None:
    with pytest.raises(TypeError, match="Avro's"):
        avro_writer(record("Wrapped", schema))
