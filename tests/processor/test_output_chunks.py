"""What workers pack is what the driver unpacks, and what every version has taken digests of.

Files of outputs belong to one owner, and none removes those of a later one.
"""

from hashlib import sha256
from pathlib import Path
from struct import pack

from hypothesis import given
from hypothesis import strategies as st

from verdict.streaming.exactly_once import output_chunks
from verdict.streaming.exactly_once.output_chunks import Record, chunks, digested, records_in
from verdict.streaming.exactly_once.outputs import Outputs

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


def written(outputs: Outputs) -> Path:
    """Return a file of these outputs."""
    outputs.folder.mkdir(parents=True)
    file = outputs.folder / "a.chunk"
    file.touch()
    return file


def test_an_owner_removes_what_the_one_before_left(tmp_path: Path) -> None:
    left = written(Outputs(tmp_path))
    owner = Outputs(tmp_path)
    own = written(owner)

    owner.clear()

    assert not left.exists()
    assert not own.exists()


def test_one_that_was_fenced_and_wakes_up_leaves_alone_what_its_successor_has(
    tmp_path: Path,
) -> None:
    fenced = Outputs(tmp_path)
    own, theirs = written(fenced), written(Outputs(tmp_path))

    fenced.clear()

    assert not own.exists()
    assert theirs.exists()
