"""As of when: what can be asked for, and the position that it comes to."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from verdict.model.message import epoch_millis, iso_time
from verdict.wire.partitions import TopicPartition


@dataclass(frozen=True, slots=True)
class AsOf:
    """One of three: now, a time in epoch milliseconds, or a global position of the archive."""

    millis: int | None = None
    global_position: int | None = None

    @property
    def asked(self) -> str | int:
        """What was asked for, always spelled alike: `now`, the time in UTC, or the number."""
        if self.millis is not None:
            return iso_time(self.millis)
        return "now" if self.global_position is None else self.global_position


@dataclass(frozen=True, slots=True)
class ResolvedPosition:
    """The position that was asked for."""

    as_of: AsOf
    ends: Mapping[TopicPartition, int]
    until: int | None = None

    @property
    def shown(self) -> dict[str, Any]:
        """What the completion record says of it."""
        ends = sorted(self.ends.items())
        positions = [{**place._asdict(), "next_offset": end} for place, end in ends]
        return {"asked": self.as_of.asked, "positions": positions}


def parse_as_of(text: str) -> AsOf:
    """Read `now`, a global position such as `4711`, or a time with a zone (ISO 8601)."""
    if text == "now":
        return AsOf()
    if text.isascii() and text.isdigit():
        return AsOf(global_position=int(text))
    millis = epoch_millis(text)
    assert isinstance(millis, int)  # a text is never returned as it was
    return AsOf(millis=millis)
