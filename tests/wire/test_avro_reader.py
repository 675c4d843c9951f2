"""What is read by our own hand is what the library reads, and nothing that it does not."""

from io import BytesIO
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.application import CATALOG
from tests.wire.avro_values import EMPTY, KINDS, ONE, PAIR, library, record
from tests.wire.examples import EXAMPLES, Example
from verdict.wire.avro.reader import avro_reader, row_reader
from verdict.wire.codec import HEADER_BYTES, Codec, DecodeError, _older_reader


def by_library(schema: Any, value: bytes, choices: bool = False) -> Any:
    body = BytesIO(value)
    found = fastavro.schemaless_reader(
        body, fastavro.parse_schema(schema), None, return_record_name=choices
    )
    if body.tell() != len(value):
        raise EOFError
    return found


def by_hand(schema: Any, value: bytes, begin: int = 0) -> Any:
    found, end = avro_reader(schema)(value, begin)
    if end != len(value):
        raise EOFError
    return found


@given(st.sampled_from(KINDS).flatmap(lambda kind: st.tuples(st.just(kind[0]), kind[1])))
def test_what_the_library_wrote_is_read_as_it_was(case: tuple[Any, Any]) -> None:
    schema, value = case
    wrapped = record("Wrapped", schema)
    written = library(wrapped, {"f0": value})

    assert by_hand(wrapped, written) == {"f0": value} == by_library(wrapped, written)
    assert by_hand(wrapped, b"before" + written, len(b"before")) == {"f0": value}


def mutated(value: bytes, edits: list[tuple[int, int]]) -> bytes:
    found = bytearray(value)
    for at, byte in edits:
        if found:
            found[at % len(found)] = byte
    return bytes(found)


DAMAGE = st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 255)), max_size=3)


@given(
    st.sampled_from(KINDS).flatmap(lambda kind: st.tuples(st.just(kind[0]), kind[1])),
    DAMAGE,
    st.integers(0, 40),
)
def test_damaged_bytes_are_refused_or_read_as_the_library_reads_them(
    case: tuple[Any, Any], edits: list[tuple[int, int]], cut: int
) -> None:
    schema, value = case
    wrapped = record("Wrapped", schema, "long")
    written = library(wrapped, {"f0": value, "f1": 7})
    damaged = mutated(written[: len(written) - cut] if cut < 20 else written, edits)

    try:
        found = by_hand(wrapped, damaged)
    except (ValueError, LookupError, EOFError):
        return
    assert found == by_library(wrapped, damaged)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
@given(edits=DAMAGE, cut=st.integers(0, 3))
def test_real_records_are_read_as_the_library_reads_them_however_damaged(
    example: Example, edits: list[tuple[int, int]], cut: int
) -> None:
    """The library's way is that of older schemas, and must not differ from that of the newest."""
    sound = example.encode(example.record)
    written = CATALOG.schemas.by_id[int.from_bytes(sound[1:HEADER_BYTES], "big")]
    known = Codec(written.subject, CATALOG.schemas)
    older = _older_reader(written, CATALOG.schemas.newest(written.subject))
    value = sound[:HEADER_BYTES] + mutated(sound[HEADER_BYTES : len(sound) - cut], edits)

    assert known.decode(sound) == older(sound, HEADER_BYTES)[0]
    try:
        found = known.decode(value)
    except DecodeError:
        return
    assert older(value, HEADER_BYTES) == (found, len(value))


@given(st.sampled_from([*CATALOG.schemas.by_id.values()]), st.binary(max_size=400))
def test_any_bytes_of_any_schema_are_refused_or_read(version: Any, value: bytes) -> None:
    try:
        found, end = avro_reader(version.schema)(value, 0)
    except (ValueError, LookupError, EOFError):
        return
    assert isinstance(found, dict)
    assert end <= len(value)


def test_a_choice_of_records_comes_with_its_name() -> None:
    union = record("Outer", [EMPTY, PAIR])
    pair = {"f0": ("x.Pair", {"f0": 7, "f1": "seven"})}

    assert (
        by_hand(union, library(union, pair))
        == pair
        == by_library(union, library(union, pair), choices=True)
    )
    only = record("Outer", [ONE])
    assert by_hand(only, library(only, {"f0": {"f0": True}})) == {"f0": ("x.One", {"f0": True})}


@pytest.mark.parametrize("others", [["null"], ["null", "long"], ["null", "string", "boolean"]])
def test_a_record_that_leaves_no_choice_comes_without_its_name(others: list[str]) -> None:
    optional = record("Outer", [*others, ONE])

    for value in ({"f0": None}, {"f0": {"f0": True}}):
        assert by_hand(optional, library(optional, value)) == value


def test_names_can_be_left_out() -> None:
    union = record("Outer", [EMPTY, PAIR])
    written = library(union, {"f0": ("x.Pair", {"f0": 7, "f1": "seven"})})

    found, end = avro_reader(union, names=False)(written, 0)

    assert (found, end) == ({"f0": {"f0": 7, "f1": "seven"}}, len(written))


def test_a_record_can_be_read_as_a_row_and_fields_of_it_be_made() -> None:
    """By the place of the field: a record of the same type elsewhere is read as ever."""
    outer = record("Outer", PAIR, [EMPTY, ONE], "x.Pair")
    pair = {"f0": 7, "f1": "seven"}
    written = library(outer, {"f0": pair, "f1": ("x.One", {"f0": True}), "f2": pair})

    found, end = row_reader(outer, {"f0": "{}={}".format})(written, 0)

    assert (found, end) == (("7=seven", ("x.One", {"f0": True}), pair), len(written))


def test_items_may_come_in_several_blocks_with_their_size() -> None:
    array = {"type": "array", "items": "long"}
    one_block, sized_block = b"\x02\x0a", b"\x03\x04\x0c\x0e"  # 1 item: 5; -2 items, 2 bytes: 6, 7

    assert by_hand(array, one_block + sized_block + b"\0") == [5, 6, 7]
    assert by_library(array, one_block + sized_block + b"\0") == [5, 6, 7]


@pytest.mark.parametrize(
    ("schema", "value"),
    [
        ("long", b"\x80" * 9 + b"\x02"),  # 65 bits
        ("long", b"\x80" * 11),
        ("boolean", b"\x02"),
        ("string", b"\x01"),  # of -1 bytes
        ("string", b"\x04\xff\xff"),
        ("string", b"\x06ab"),
        ("bytes", b"\x06ab"),
        (["null", "long"], b"\x04"),
        (["null", "long"], b"\x01"),
        ({"type": "enum", "name": "E", "symbols": ["A"]}, b"\x01"),
        ({"type": "array", "items": "long"}, b"\xfe\xff\xff\xff\xff\xff\xff\xff\x7f\x02"),
    ],
)
def test_what_no_writer_writes_is_refused(schema: Any, value: bytes) -> None:
    with pytest.raises((ValueError, LookupError, EOFError)):
        by_hand(schema, value)


@pytest.mark.parametrize(
    "schema", ["double", {"type": "fixed", "name": "F", "size": 2}, ["null", "long", "x.Unknown"]]
)
def test_a_type_that_none_of_our_classes_leads_to_is_refused_when_compiled(schema: Any) -> None:
    with pytest.raises(TypeError, match="cannot read Avro's"):
        avro_reader(record("Wrapped", schema))
