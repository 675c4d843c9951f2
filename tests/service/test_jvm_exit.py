from pathlib import Path

import pytest

from tests.application import APPLICATION
from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.oversized import OversizedRecord
from verdict.model.source import Source
from verdict.service import jvm_exit
from verdict.settings.load import load_settings

NOWHERE = KafkaConfig(settings={"bootstrap.servers": "127.0.0.1:1"})


def said(tmp_path: Path, code: int, *found: OversizedRecord) -> str:
    """Return what is said of a JVM that ended with `code` when `found` is what came next."""
    settings = load_settings(APPLICATION, data_dir=tmp_path)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(jvm_exit, "_oversized", lambda *_: [*found])
        return str(jvm_exit.jvm_ended(code, settings, NOWHERE, tmp_path / "spark.log"))


MEMORY = (
    "the JVM of Spark ran out of memory (it ended with 52): {}; each start would meet that again, "
    "nothing is lost: {}several times that with driver_memory, now 1g"
)
ENDED = "the JVM of Spark ended with {}: see whether the system ended it for want of memory, and "
COMMAND = OversizedRecord(Source("order.commands", 0, 17), 4 * 10**8)
RETRIED = OversizedRecord(Source("retry", 1, 2), None)
STATE = OversizedRecord(Source("share-holders", 0, 17), 4 * 10**8)  # which no skip can leave out


@pytest.mark.proves("C-11")
@pytest.mark.parametrize(
    ("code", "found", "expected"),
    [
        (-9, [COMMAND], ENDED.format(-9)),
        (52, [], ENDED.format(52)),
        (
            52,
            [COMMAND, RETRIED],
            MEMORY.format(
                "order.commands:0:17 unpacks to 400,000,000 bytes; retry:1:2 unpacks to more than "
                "a client takes",
                "skip it with `verdict skip order.commands:0:17 retry:1:2 --reason '…'`, or give "
                "the JVM ",
            ),
        ),
        (
            52,
            [STATE],
            MEMORY.format("share-holders:0:17 unpacks to 400,000,000 bytes", "give the JVM "),
        ),
    ],
)
def test_records_that_it_died_of_are_named_with_the_way_past_them(
    tmp_path: Path, code: int, found: list[OversizedRecord], expected: str
) -> None:
    assert said(tmp_path, code, *found).startswith(expected)
