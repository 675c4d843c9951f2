"""Schemas of every kind that our classes lead to, values of them, and what the library writes."""

from io import BytesIO
from typing import Any

import fastavro
from hypothesis import strategies as st

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


def library(schema: Any, value: Any) -> bytes:
    body = BytesIO()
    fastavro.schemaless_writer(body, fastavro.parse_schema(schema), value)
    return body.getvalue()
