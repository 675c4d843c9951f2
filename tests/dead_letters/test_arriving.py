"""G-02: whatever anybody puts on `dead-letters`, those behind it are taken in."""

import pytest
from confluent_kafka import Producer

from tests.dead_letters.desk import Desk
from tests.raw_headers import put_with_header_named
from verdict.wire.topics import KEY_BYTES, LARGEST_BYTES


def packed(desk: Desk, codec: str, key: bytes, value: bytes) -> None:
    """Put a letter that is small for Kafka only; all of these go to one partition."""
    producer = Producer(
        {
            **desk.kafka.settings,
            "compression.type": codec,
            "message.max.bytes": 10**9,
            "queue.buffering.max.kbytes": 10**6,
        }
    )
    producer.produce(desk.topics.dead_letters, value, key, 0)
    assert producer.flush(60) == 0


@pytest.mark.proves("C-11")
def test_no_letter_keeps_others_from_being_taken_in(desk: Desk) -> None:
    servers, topic = str(desk.kafka.settings["bootstrap.servers"]), desk.topics.dead_letters
    packed(desk, "none", b"first", b"0 sound")
    packed(desk, "zstd", b"beyond all", b"\0" * 200_000_000)
    packed(desk, "gzip", b"k" * 3_000_000, b"1 long key")
    packed(desk, "gzip", b"k" * 2_500_000, b"2" * 2_500_000)
    put_with_header_named(servers, topic, b"\xff\xfe", b"3 named by no text")
    packed(desk, "none", b"last", b"4 sound")

    desk.take_in()

    none, *others = sorted(desk.rows(), key=lambda row: row["bytes"] or b"")
    assert none["status"] == "PARKED"
    assert none["error"].startswith("none of its bytes can be read (Decompression")
    first, long_key, large, named, last = others
    assert [first["status"], long_key["status"], last["status"]] == ["WAITING"] * 3
    assert len(long_key["key"]) == 3_000_000  # a topic takes that again
    assert large["status"] == named["status"] == "PARKED"
    assert large["error"].startswith("it has 5000000 bytes with its key and headers")
    assert (len(large["key"]), len(large["bytes"])) == (KEY_BYTES, LARGEST_BYTES)
    assert named["bytes"] == b"3 named by no text"
    assert "one of its headers is no text in UTF-8" in named["error"]
