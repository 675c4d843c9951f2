"""What the skips topic says, and what somebody else has written there."""

import logging

import pytest

from verdict.model.source import Source
from verdict.streaming.event_log.record import RawRecord
from verdict.streaming.event_log.skip_log import skips_in
from verdict.wire.records import encode
from verdict.wire.skip_record import SkipRecord

MADE = SkipRecord(
    source=Source("position.events", 0, 7),
    until_offset=8,
    operator="ada",
    reason="a bomb",
    decided_at=5,
)


@pytest.mark.proves("B-09")
@pytest.mark.parametrize("foreign", [b"", b"garbage", b'{"source": null}', None])
def test_what_somebody_else_wrote_is_left_out_and_the_others_count(
    foreign: bytes | None, caplog: pytest.LogCaptureFixture
) -> None:
    """A stray record skips nothing, and stops nothing."""
    values = [encode(MADE), foreign, encode(MADE)]
    records = [RawRecord("verdict.skips", 0, n, None, value) for n, value in enumerate(values)]

    with caplog.at_level(logging.ERROR):
        found = [*skips_in(records)]

    assert found == [MADE, MADE]
    [said] = caplog.messages
    assert said.startswith(
        "1 records are no decisions and are left out, the first: verdict.skips:0:1: "
    )
