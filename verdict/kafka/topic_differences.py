"""What is wrong with a topic, as a value, and as one message that leaves nothing out."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from verdict.errors import VerdictError
from verdict.wire.spans import Partition
from verdict.wire.topics import OWN_TIME, Topic

MISSING = "topic"  # as the setting of a topic that there is not
PARTITIONS = "partitions"


@dataclass(frozen=True, slots=True)
class Difference:
    """One setting of one topic that is not what it must be; `advice` says what to do.

    A start refuses it if it is `fatal`, else it warns of it and goes on.
    """

    topic: str
    setting: str
    found: str
    wanted: str
    advice: str = ""
    fatal: bool = True

    def __str__(self) -> str:
        advice = f" ({self.advice})" if self.advice else ""
        return f"{self.topic}: {self.setting} is {self.found}, must be {self.wanted}{advice}"


class TopicsDiffer(VerdictError):
    """Topics are missing, or are set up in a way that would lose or move records."""

    def __init__(self, differences: Sequence[Difference]) -> None:
        self.differences = tuple(differences)
        lines = "".join(f"\n  {difference}" for difference in differences)
        super().__init__(
            f"{len(differences)} topic settings are not what they must be:{lines}\n"
            "mend them, settings with kafka-configs.sh --alter, and start again; the embedded "
            "Kafka answers while `verdict run broker` runs"
        )


class PartitionsAdded(VerdictError):
    """Somebody has added partitions to a commands topic while it was being decided."""

    def __init__(self, topic: str, before: int, now: int) -> None:
        super().__init__(
            f"{topic} has {now} partitions, and had {before} when the service started: keys have "
            f"moved to others, and {_moved(topic)}; nothing that lies on the new ones was decided"
        )


def wrong_partitions(
    topic: Topic, found: int, accepted: Container[Partition] = (), decided: int | None = None
) -> list[Difference]:
    """Return what is wrong with the partition count of a topic of ours.

    Args:
        topic: What it must be.
        found: What it is.
        accepted: Partitions that may have been added, on a person's word.
        decided: Of a commands topic: how many had been decided from, None before the first batch.
    """
    wanted = decided or topic.partitions
    added = [Partition(topic.name, number) for number in range(wanted, found)]
    if found < wanted or any(one not in accepted for one in added):
        advice = ""
        if decided is not None:
            advice = (
                f"commands were decided with {decided}: with another count keys move to other "
                "partitions and their order is lost"
            )
        if added:
            advice = "; ".join(filter(None, (advice, _moved(topic.name))))
        return [Difference(topic.name, PARTITIONS, str(found), str(wanted), advice)]
    first = None if decided is None else first_partitions(topic.name, decided, accepted)
    if first is not None and topic.partitions != first:
        advice = (
            f"the setting `partitions` says {topic.partitions}, but the first commands were "
            f"decided with {first}, which is how many verdict writes to: set partitions to {first}"
        )
        return [Difference(topic.name, PARTITIONS, str(found), str(topic.partitions), advice)]
    return []


def added_partitions(
    topic: Topic, found: int, accepted: Container[Partition] = ()
) -> list[Difference]:
    """Return what a person should know of the partition count of a topic that verdict writes to."""
    added = [Partition(topic.name, number) for number in range(topic.partitions, found)]
    if found >= topic.partitions and all(one in accepted for one in added):
        return []
    advice = (
        f"somebody added partitions: verdict writes to the first {topic.partitions} only, as "
        "before, and goes on; when you know who did it and why, note it with `verdict topics "
        f"accept {topic.name} --why …`"
    )
    return [
        Difference(
            topic.name,
            PARTITIONS,
            str(found),
            str(topic.partitions),
            advice if added else "",
            fatal=not added,
        )
    ]


def first_partitions(topic: str, decided: int, accepted: Container[Partition]) -> int:
    """Return how many partitions a commands topic had at first, before some were accepted."""
    return next((n for n in range(1, decided) if Partition(topic, n) in accepted), decided)


def _moved(topic: str) -> str:
    return (
        "Kafka takes no partition away: when all that was sent before is decided and no sender "
        f"sends to it, `verdict topics accept {topic} --why …` lets it go on with them"
    )


def wrong_settings(topic: Topic, found: Mapping[str, str]) -> list[Difference]:
    """Return the settings of a topic that are not what they must be."""
    return [
        Difference(
            topic.name, setting, found.get(setting, "unset"), wanted, _advice(topic, setting)
        )
        for setting, wanted in topic.settings.items()
        if found.get(setting) != wanted
    ]


def _advice(topic: Topic, setting: str) -> str:
    if setting not in OWN_TIME:
        return ""
    return (
        "`verdict up` sets it where its user may; else kafka-configs.sh --alter --entity-type "
        f"topics --entity-name {topic.name} --add-config {setting}={topic.settings[setting]}"
    )
