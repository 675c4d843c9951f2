"""What workers pack is what the driver unpacks, and what every version has taken digests of."""

from hashlib import sha256
from struct import pack

from hypothesis import given
from hypothesis import strategies as st

from verdict.streaming.exactly_once import output_chunks
from verdict.streaming.exactly_once.output_chunks import Record, chunks, digested, records_in

RECORDS: st.SearchStrategy[list[Record]] = st.lists(
    st.tuples(
        st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
        st.none() | st.binary(max_size=3),
        st.none() | st.binary(max_size=3),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=3),
        st.booleans(),
    ),
    max_size=4,
)


@given(RECORDS)
def test_what_is_packed_comes_out_again(records: list[Record]) -> None:
    assert [one for some in chunks(records) for one in records_in(some)] == records


@given(RECORDS)
def test_a_digest_is_that_of_lengths_topic_key_value_and_headers_of_each_record(
    records: list[Record],
) -> None:
    whole = sha256()
    for some in chunks(records):
        whole.update(digested(some))

    assert whole.digest() == sha256(b"".join(map(_digested_always, records))).digest()


def test_how_outputs_are_cut_into_chunks_does_not_show_in_the_digest() -> None:
    records: list[Record] = [
        ("t", b"k", bytes(output_chunks.BYTES), "", n % 2 == 0) for n in range(3)
    ]
    parts = [*chunks(records)]

    assert len(parts) == 3
    assert b"".join(map(digested, parts)) == b"".join(map(_digested_always, records))


def _digested_always(record: Record) -> bytes:
    """Return what digests were taken of before there were chunks; progress hold such digests."""
    topic, key, value, headers, replayable = record
    name, text = topic.encode(), headers.encode()
    of_key, of_value = (-1 if part is None else len(part) for part in (key, value))
    lengths = pack(">iiii", len(name), of_key, of_value if replayable else -2, len(text))
    return lengths + name + (key or b"") + ((value or b"") if replayable else b"") + text
