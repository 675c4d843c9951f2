"""Why a read model cannot be told as of some position."""

from verdict.errors import VerdictError
from verdict.model.message import iso_time
from verdict.read_side.tables.blocked import Held
from verdict.wire.partitions import TopicPartition

SHOWN = 20
ASK = "ask for `--as-of now` or a time"


class FutureTimeError(VerdictError):
    """Something may still happen before the time that was asked for."""

    def __init__(self, millis: int, now: int) -> None:
        super().__init__(
            f"{iso_time(millis)} lies ahead, it is {iso_time(now)} now: what will have happened by "
            "then cannot be told; ask again when it has passed"
        )


class UndecidedCommandsError(VerdictError):
    """Commands that Kafka got by that time are not decided yet."""

    def __init__(self, millis: int, place: TopicPartition, needed: int, decided: int) -> None:
        super().__init__(
            f"{place} has commands of {iso_time(millis)} or before up to "
            f"offset {needed}, and the decider has decided them up to {decided}: let `verdict up` "
            "run until `verdict status` shows no lag there, then ask again"
        )


class NoPositionsError(VerdictError):
    """Global positions say nothing about the topics that a projection follows."""

    def __init__(self, name: str, topics: list[str]) -> None:
        super().__init__(
            f"{name} follows {', '.join(topics)}, and global positions count events only: {ASK}"
        )


class CompactedError(VerdictError):
    """What a topic of states held then is overtaken and gone."""

    def __init__(self, name: str, place: TopicPartition, missing: int, end: int) -> None:
        super().__init__(
            f"{name} follows {place.topic}, which keeps the newest states only: of the {end} "
            f"offsets that {place} had by then {missing} hold nothing any "
            "more, so what was known then cannot be told; ask for `--as-of now`"
        )


class IncompleteExportError(VerdictError):
    """An aggregate's events have a gap, or one cannot be applied; its rows would be too old.

    So they would be when a key's newest state cannot be applied.
    """

    def __init__(self, name: str, held: Held, of_events: bool = True) -> None:
        (kind, one), hold = next(iter(held.items()))
        mend = "edit or skip it, or mend the projection" if of_events else "have it written again"
        lacks = f"version {hold.version_needed} of {kind} {one!r} is missing"
        shown = ", ".join(f"{name}/{kind}/{one}" for kind, one in [*held][:SHOWN])
        more = f" and {len(held) - SHOWN} more" if len(held) > SHOWN else ""
        super().__init__(
            f"{name} cannot be told: {len(held)} aggregates wait: {shown}{more}; the first: "
            f"{hold.error or lacks}; see `verdict blocked list`: {mend}; or go on with what they "
            "were before, each with `verdict blocked accept ID --reason …`"
        )
