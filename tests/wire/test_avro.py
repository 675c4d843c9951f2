"""Our readers and writers of Avro do what the library does, and accept nothing else."""

from io import BytesIO
from types import SimpleNamespace
from typing import Any

import fastavro
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.application import CATALOG
from tests.wire.examples import EXAMPLES, Example
from verdict.wire.avro.reader import avro_reader, row_reader
from verdict.wire.avro.writer import avro_writer
from verdict.wire.codec import HEADER_BYTES, Codec, DecodeError, _older_reader
from verdict.wire.schemas.files import UnboundedSchemaError, require_bounded

LONGS = st.integers(-(2**63), 2**63 - 1)
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=5000)
NAMES = st.text("abc", min_size=1, max_size=3)
COLOUR = {"type": "enum", "name": "Colour", "namespace": "x", "symbols": ["RED", "GREEN"]}
COLOURS = st.sampled_from(COLOUR["symbols"])


def record(name: str, *types: Any) -> dict[str, Any]:
    fields = [{"name": f"f{number}", "type": one} for number, one in enumerate(types)]
    return {"type": "record", "name": name, "namespace": "x", "fields": fields}


PAIR = record("Pair", "long", "string")
ONE = record("One", "boolean")
EMPTY = record("Empty")
PAIRS = st.fixed_dictionaries({"f0": LONGS, "f1": TEXTS})

KINDS: list[tuple[Any, st.SearchStrategy[Any]]] = [
    ("null", st.none()),
    ("boolean", st.booleans()),
    ("long", LONGS),
    ("string", TEXTS),
    ("bytes", st.binary(max_size=5000)),
    (COLOUR, COLOURS),
    ({"type": "array", "items": "long"}, st.lists(LONGS)),
    ({"type": "map", "values": ["long", "string"]}, st.dictionaries(NAMES, LONGS | TEXTS)),
    (["null", "long"], st.none() | LONGS),
    (["null", COLOUR], st.none() | COLOURS),
    (["null", "long", COLOUR], st.none() | LONGS | COLOURS),
    (PAIR, PAIRS),
    (ONE, st.fixed_dictionaries({"f0": st.booleans()})),
    (record("Nested", PAIR, "x.Pair"), st.fixed_dictionaries({"f0": PAIRS, "f1": PAIRS})),
]


VALUES = st.sampled_from(KINDS).flatmap(lambda kind: st.tuples(st.just(kind[0]), kind[1]))
DAMAGE = st.lists(st.tuples(st.integers(0, 5000), st.integers(0, 255)), max_size=3)


def by_library(schema: Any, value: Any) -> bytes:
    body = BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(schema), value)
    return body.getvalue()


def read_by_library(schema: Any, value: bytes, choices: bool = False) -> Any:
    body = BytesIO(value)
    found = fastavro.schemaless_reader(
        body, fastavro.parse_schema(schema), None, return_record_name=choices
    )
    if body.tell() != len(value):
        raise EOFError
    return found


def read(schema: Any, value: bytes, begin: int = 0) -> Any:
    found, end = avro_reader(schema)(value, begin)
    if end != len(value):
        raise EOFError
    return found


def as_object(value: Any) -> Any:
    if isinstance(value, dict) and value and all(name.startswith("f") for name in value):
        return SimpleNamespace(**{name: as_object(part) for name, part in value.items()})
    return value


def damaged(value: bytes, edits: list[tuple[int, int]]) -> bytes:
    found = bytearray(value)
    for at, byte in edits:
        if found:
            found[at % len(found)] = byte
    return bytes(found)


@given(VALUES)
def test_values_are_written_and_read_as_by_the_library(case: tuple[Any, Any]) -> None:
    schema, value = case
    wrapped = record("Wrapped", schema)
    written = avro_writer(wrapped)(as_object({"f0": value}))

    assert written == by_library(wrapped, {"f0": value})
    assert read(wrapped, b"before" + written, len(b"before")) == {"f0": value}


@given(VALUES, DAMAGE, st.integers(0, 40))
def test_damaged_bytes_are_refused_or_read_as_the_library_reads_them(
    case: tuple[Any, Any], edits: list[tuple[int, int]], cut: int
) -> None:
    schema, value = case
    wrapped = record("Wrapped", schema, "long")
    written = by_library(wrapped, {"f0": value, "f1": 7})
    wrong = damaged(written[: len(written) - cut] if cut < 20 else written, edits)

    try:
        found = read(wrapped, wrong)
    except (ValueError, LookupError, EOFError):
        return
    assert found == read_by_library(wrapped, wrong)


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.name)
@given(edits=DAMAGE, cut=st.integers(0, 3))
def test_real_records_are_read_as_the_library_reads_them_however_damaged(
    example: Example, edits: list[tuple[int, int]], cut: int
) -> None:
    """The library reads older schemas, and must not differ from what reads the newest."""
    sound = example.encode(example.record)
    written = CATALOG.schemas.by_id[int.from_bytes(sound[1:HEADER_BYTES], "big")]
    known = Codec(written.subject, CATALOG.schemas)
    older = _older_reader(written, CATALOG.schemas.newest(written.subject))
    value = sound[:HEADER_BYTES] + damaged(sound[HEADER_BYTES : len(sound) - cut], edits)

    assert known.decode(sound) == older(sound, HEADER_BYTES)[0]
    try:
        found = known.decode(value)
    except DecodeError:
        return
    assert older(value, HEADER_BYTES) == (found, len(value))


def test_a_choice_of_records_is_written_by_the_class_and_read_with_its_name() -> None:
    class Pair:
        f0, f1 = 7, "seven"

    class Empty:
        pass

    union, only = record("Outer", [EMPTY, PAIR]), record("Outer", [ONE])
    pair = {"f0": ("x.Pair", {"f0": 7, "f1": "seven"})}
    written = by_library(union, pair)

    assert read(union, written) == pair == read_by_library(union, written, choices=True)
    assert avro_writer(union)(SimpleNamespace(f0=Pair())) == written
    empty = by_library(union, {"f0": ("x.Empty", {})})
    assert avro_writer(union)(SimpleNamespace(f0=Empty())) == empty
    one = by_library(only, {"f0": {"f0": True}})
    assert read(only, one) == {"f0": ("x.One", {"f0": True})}


@pytest.mark.parametrize("others", [["null"], ["null", "long"], ["null", "string", "boolean"]])
def test_a_record_that_leaves_no_choice_comes_without_its_name(others: list[str]) -> None:
    optional = record("Outer", [*others, ONE])

    for value in ({"f0": None}, {"f0": {"f0": True}}):
        assert read(optional, by_library(optional, value)) == value


def test_a_record_can_be_read_as_a_row_and_fields_of_it_be_made() -> None:
    """By the place of the field: a record of the same type elsewhere is read as ever."""
    outer = record("Outer", PAIR, [EMPTY, ONE], "x.Pair")
    pair = {"f0": 7, "f1": "seven"}
    written = by_library(outer, {"f0": pair, "f1": ("x.One", {"f0": True}), "f2": pair})

    found, end = row_reader(outer, {"f0": "{}={}".format})(written, 0)

    assert (found, end) == (("7=seven", ("x.One", {"f0": True}), pair), len(written))


def test_items_may_come_in_several_blocks_with_their_size() -> None:
    array = {"type": "array", "items": "long"}
    one_block, sized_block = b"\x02\x0a", b"\x03\x04\x0c\x0e"  # 1 item: 5; -2 items, 2 bytes: 6, 7

    assert read(array, one_block + sized_block + b"\0") == [5, 6, 7]
    assert read_by_library(array, one_block + sized_block + b"\0") == [5, 6, 7]


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
        read(schema, value)


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


@pytest.mark.parametrize("made", [avro_reader, avro_writer])
@pytest.mark.parametrize(
    "schema", ["double", {"type": "fixed", "name": "F", "size": 2}, ["null", "long", "x.Unknown"]]
)
def test_a_type_that_none_of_our_classes_leads_to_is_refused(made: Any, schema: Any) -> None:
    with pytest.raises(TypeError, match="Avro's"):
        made(record("Wrapped", schema))


def array(items: Any) -> dict[str, Any]:
    return {"type": "array", "items": items}


LINK, TREE = record("Link", ["null", "x.Link"]), record("Tree", array("x.Tree"))


@pytest.mark.proves("C-11")
@pytest.mark.parametrize(
    ("schema", "problem"),
    [
        (LINK, r"record x\.Link holds itself"),
        (record("Holder", LINK), r"record x\.Link holds itself"),
        ({"type": "map", "values": TREE}, r"record x\.Tree holds itself"),
        (array("null"), "the items of an array take no bytes"),
        (array(EMPTY), "the items of an array take no bytes"),
        (array(record("Wrapped", EMPTY)), "the items of an array take no bytes"),
    ],
)
def test_no_schema_lets_a_few_bytes_take_any_amount_of_memory(schema: Any, problem: str) -> None:
    with pytest.raises(UnboundedSchemaError, match=f"schema of y: {problem}"):
        require_bounded("y", schema)


@pytest.mark.parametrize(
    "schema",
    [
        EMPTY,
        array(record("Something", EMPTY, ["null", "string"])),
        array("boolean"),
        array(array("string")),
        array(["null", EMPTY]),
        {"type": "map", "values": EMPTY},
        record("Twice", PAIR, "x.Pair"),
    ],
)
def test_what_takes_bytes_for_everything_it_holds_is_fine(schema: Any) -> None:
    require_bounded("y", schema)
