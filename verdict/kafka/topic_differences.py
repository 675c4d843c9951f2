"""What is wrong with a topic, as a value, and as one message that leaves nothing out."""

from collections.abc import Container, Mapping, Sequence
from dataclasses import dataclass

from verdict.errors import VerdictError
from verdict.wire.spans import Partition
from verdict.wire.topics import OWN_TIME, Topic

MISSING = "topic"  # as the setting of a topic that there is not


@dataclass(frozen=True, slots=True)
class Difference:
    """One setting of one topic that is not what it must be; `advice` says what to do."""

    topic: str
    setting: str
    found: str
    wanted: str
    advice: str = ""

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
    topic: Topic, found: int, first: int | None, accepted: Container[Partition] = ()
) -> list[Difference]:
    """Return what is wrong with a topic's partition count.

    Args:
        topic: What it must be.
        found: What it is.
        first: What it was when commands were decided last, None if that is no matter.
        accepted: Partitions that may have been added, on a person's word.
    """
    wanted = first or topic.partitions
    added = [Partition(topic.name, number) for number in range(wanted, found)]
    if added and all(one in accepted for one in added):
        return []
    if found != wanted:
        advice = ""
        if first is not None:
            advice = (
                f"commands were decided with {first}: with another count keys move to other "
                "partitions and their order is lost"
            )
        if added:
            advice = "; ".join(filter(None, (advice, _moved(topic.name))))
        return [Difference(topic.name, "partitions", str(found), str(wanted), advice)]
    first_added = Partition(topic.name, topic.partitions)
    if first is not None and topic.partitions != first and first_added not in accepted:
        advice = (
            f"the setting `partitions` says {topic.partitions}, but commands were decided with "
            f"{first} and the count must stay: set partitions to {first}"
        )
        return [Difference(topic.name, "partitions", str(found), str(topic.partitions), advice)]
    return []


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
