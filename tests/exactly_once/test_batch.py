from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from verdict.streaming.exactly_once.batch import OutputRecord, digest
from verdict.wire.headers import joined, pairs

RECORD = OutputRecord("order.events", b"order-1", b"value", joined({"ce_id": "1", "ce_type": "t"}))
TEXT = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=3)
RECORDS = st.lists(
    st.builds(
        OutputRecord,
        TEXT,
        st.none() | st.binary(max_size=3),
        st.binary(max_size=3),
        st.dictionaries(TEXT.filter(bool), TEXT, max_size=2).map(joined),
        st.just(True),
    ),
    max_size=4,
)


@pytest.mark.proves("C-10")
@pytest.mark.parametrize(
    ("change", "seen"),
    [
        (lambda record: record._replace(value=b"ValueError at line 7"), False),
        (lambda record: record._replace(key=b"order-2"), True),
        (lambda record: record._replace(headers=""), True),
    ],
)
def test_of_a_record_that_a_replay_may_word_differently_only_the_value_is_left_out(
    change: Callable[[OutputRecord], OutputRecord], seen: bool
) -> None:
    record = RECORD._replace(replayable=False)

    assert (digest([record]) != digest([change(record)])) == seen


@given(RECORDS, RECORDS)
def test_different_outputs_have_different_digests(
    left: list[OutputRecord], right: list[OutputRecord]
) -> None:
    def comparable(records: list[OutputRecord]) -> list[tuple[object, ...]]:
        return [(r.topic, r.key, r.value, pairs(r.headers)) for r in records]

    assert digest(left) == digest([*left])
    assert (digest(left) == digest(right)) == (comparable(left) == comparable(right))
