"""Differences between the topics that exist and those that must, as values and as one message."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass, replace

from verdict.errors import VerdictError
from verdict.wire.partitions import TopicPartition
from verdict.wire.topics import Topic, Topics

MISSING = "topic"  # the setting of a topic that does not exist
PARTITIONS = "partitions"


@dataclass(frozen=True, slots=True)
class Difference:
    """One wrong setting of a topic; if it is `fatal`, the start is refused, else it warns."""

    topic: str
    setting: str
    found: str
    wanted: str
    advice: str = ""
    fatal: bool = True

    def __str__(self) -> str:
        advice = f" ({self.advice})" if self.advice else ""
        return f"{self.topic}: {self.setting} is {self.found}, must be {self.wanted}{advice}"


class TopicSettingsError(VerdictError):
    """Topics are missing, or their settings would lose or move records."""

    def __init__(self, differences: Sequence[Difference]) -> None:
        self.differences = tuple(differences)
        lines = "".join(f"\n  {difference}" for difference in differences)
        remedy = "none of them stops verdict"
        if any(one.fatal for one in differences):
            remedy = (
                "fix them, settings with kafka-configs.sh --alter --entity-type topics "
                "--entity-name TOPIC --add-config SETTING=VALUE, and start again; the embedded "
                "Kafka answers while `verdict run broker` runs"
            )
        super().__init__(
            f"{len(differences)} topic settings are not what they must be:{lines}\n{remedy}"
        )


class PartitionsAddedError(VerdictError):
    """Somebody has added partitions to a commands topic of a running decider."""

    def __init__(self, topic: str, before: int, now: int) -> None:
        super().__init__(
            f"{topic} has {now} partitions, and had {before} when the service started: keys have "
            f"moved to others, and {_moved(topic)}; nothing on the new ones was decided"
        )


def wrong_partitions(
    topic: Topic, found: int, accepted: Container[TopicPartition] = (), decided: int | None = None
) -> list[Difference]:
    """Return what is wrong with the partition count of one of our topics."""
    wanted = decided or topic.partitions
    added = [TopicPartition(topic.name, number) for number in range(wanted, found)]
    if found < wanted or any(one not in accepted for one in added):
        reasons = []
        if decided is not None:
            reasons.append(
                f"commands were decided with {decided}: with another count keys move to other "
                "partitions and their order is lost"
            )
        if added:
            reasons.append(_moved(topic.name))
        return [Difference(topic.name, PARTITIONS, str(found), str(wanted), "; ".join(reasons))]
    first = None if decided is None else _first(topic.name, decided, accepted)
    if first is not None and topic.partitions != first:
        advice = (
            f"the setting `partitions` says {topic.partitions}, but the first commands were "
            f"decided with {first}, which is how many verdict writes to: set partitions to {first}"
        )
        return [Difference(topic.name, PARTITIONS, str(found), str(topic.partitions), advice)]
    return []


def added_partitions(
    topic: str, found: int, written: int, accepted: Container[TopicPartition] = ()
) -> list[Difference]:
    """Return what is wrong with the partition count of a topic that verdict alone writes to."""
    added = [TopicPartition(topic, number) for number in range(written, found)]
    if found >= written and all(one in accepted for one in added):
        return []
    advice = (
        f"somebody added partitions: verdict writes to the first {written} only, as before, and "
        "goes on; when you know who did it and why, note it with `verdict topics accept "
        f"{topic} --reason …`"
    )
    if not added:
        return [Difference(topic, PARTITIONS, str(found), str(written))]
    return [Difference(topic, PARTITIONS, str(found), str(written), advice, fatal=False)]


def as_begun(
    topics: Topics, decided: Mapping[str, Sequence[int]], accepted: Container[TopicPartition]
) -> Topics:
    """Return the topics with as many partitions as they had at the first start."""
    counts = [_first(topic, len(of), accepted) for topic, of in decided.items()]
    return replace(topics, partitions=min(counts, default=topics.partitions))


def _first(topic: str, decided: int, accepted: Container[TopicPartition]) -> int:
    return next((n for n in range(1, decided) if TopicPartition(topic, n) in accepted), decided)


def _moved(topic: str) -> str:
    return (
        "Kafka takes no partition away: when all that was sent before is decided and no sender "
        f"sends to it, `verdict topics accept {topic} --reason …` lets it go on with them"
    )


def wrong_settings(topic: Topic, found: Mapping[str, str]) -> list[Difference]:
    """Return the settings of a topic that are not what they must be."""
    return [
        Difference(topic.name, setting, found.get(setting, "unset"), wanted)
        for setting, wanted in topic.settings.items()
        if found.get(setting) != wanted
    ]
