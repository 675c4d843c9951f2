"""G-02: whatever comes in, and whatever the settings, what goes out fits its topic."""

import json
from typing import Any

import pytest

from tests.application import APPLICATION
from tests.decide.desk import command_record
from tests.model import Record
from verdict.wire.topics import LARGEST_BYTES, OUTPUT_BYTES, Topics
from verdict.write_side.decide.command_checks import Limits
from verdict.write_side.processor.batch import ShardBatch
from verdict.write_side.state.shard_state import DictState

FRAME_BYTES = 2_000  # of Kafka's around a record and its headers, and more than those

PLACE = {"type": "PlaceOrder", "client": "ada", "ticker": "AAPL", "side": "BUY", "quantity": 1,
         "limit_price_cents": 1}  # fmt: skip


def greatest(payload: dict[str, Any], where: str, filler: str = "x", **more: Any) -> Record:
    """Return a command of the greatest size that can be set; `where` is what makes it so."""
    order = "\N{BRAHMI NUMBER ONE}" * 256
    named = {"command_id": "c" * 128, "aggregate_id": order, "expected_version": "ANY"}
    envelope = named | {"correlation_id": "f" * 256, "payload": payload} | more
    inner = envelope if where in ("actor", "traceparent", "colour") else payload
    inner[where] = ""
    bare = len(json.dumps(envelope, ensure_ascii=False).encode())
    one = len(json.dumps(filler, ensure_ascii=False).encode()) - 2  # without the quotes
    inner[where] = filler * ((LARGEST_BYTES - bare) // one)
    value = json.dumps(envelope, ensure_ascii=False).encode()
    assert LARGEST_BYTES - 10 < len(value) <= LARGEST_BYTES
    return Record("order.commands", 0, 0, 1_795_000_000_000, order.encode(), value)


@pytest.mark.proves("C-11")
@pytest.mark.parametrize(
    "record",
    [
        greatest(PLACE, "traceparent"),
        greatest(PLACE, "traceparent", filler="\x01"),
        greatest(PLACE, "ticker"),
        greatest({"type": "CancelOrder"}, "traceparent"),
        greatest({"type": "CancelOrder"}, "colour"),
        greatest({"type": "CancelOrder"}, "cause", filler="\N{BRAHMI NUMBER ONE}"),
        greatest({}, "type"),
        greatest({"type": "CancelOrder"} | {"y" * n: n for n in range(1, 300)}, "actor"),
        greatest(PLACE, "traceparent", command_id=""),
    ],
)
def test_what_follows_from_a_command_of_the_greatest_size_fits_its_topic(record: Record) -> None:
    limits = Limits(events_bytes=LARGEST_BYTES)
    batch = ShardBatch(Topics(APPLICATION), limits, DictState())

    outputs = list(batch.decide([command_record(record, LARGEST_BYTES)]))

    sizes = {one.topic: len(one.key or b"") + len(one.value) + len(one.headers.encode())
             for one in outputs}  # fmt: skip
    assert sizes
    assert max(sizes.values()) < OUTPUT_BYTES - FRAME_BYTES, sizes
