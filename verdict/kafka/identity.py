"""Which Kafka it is and which topics: by their own ids, as a name says nothing (KIP-516)."""

from collections.abc import Collection, Mapping, Sequence
from concurrent.futures import TimeoutError as FutureTimeout
from typing import Any, NamedTuple

from confluent_kafka import KafkaError, KafkaException, TopicCollection
from confluent_kafka.admin import AdminClient

from verdict.client.listing import list_topics
from verdict.errors import Unreachable, VerdictError
from verdict.kafka.access import ClientLog, Kafka
from verdict.kafka.errors import kafka_failed, settings_refused

SHOWN = 12  # topics
A_NEW_LOG = (
    "Check bootstrap_servers. A topic's id comes back with the files of its brokers only: start "
    "the Kafka that has it, from a backup if need be. If it is gone for good, `verdict recover` "
    "creates it again, unless events, responses or states were on it; else begin a new log beside "
    "this one, with a topic_prefix, a data_dir and a database_url of its own"
)


class AnotherLog(VerdictError):
    """What was remembered of Kafka is of another cluster, or of topics that are no more."""


class Identity(NamedTuple):
    """A cluster's id, None if it is not known, and the id of each topic that there is."""

    cluster_id: str | None
    topic_ids: Mapping[str, str]


def changes(known: Identity, found: Identity) -> list[str]:
    """Return in words what is not what it was; nothing is said of what was not known.

    Args:
        known: As it was written down.
        found: As it is, of all topics that matter now.
    """
    if known.cluster_id not in (None, found.cluster_id):  # none of its topics can be the same
        return [f"the cluster's id was {known.cluster_id} and is {found.cluster_id}"]
    said = []
    for topic, was in sorted(known.topic_ids.items()):
        now = found.topic_ids.get(topic)
        if now is None:
            said.append(f"{topic} had the id {was} and is gone")
        elif now != was:
            said.append(f"{topic} had the id {was} and has {now}: it was deleted and created anew")
    return said


def refuse_another(whose: str, known: Identity, found: Identity, remedy: str = A_NEW_LOG) -> None:
    """Return if `found` is what `whose` was written with.

    Args:
        whose: What remembers, such as "the marker of decider".
        known: As it was written down.
        found: As it is, of all topics that matter now.
        remedy: What a person can do.

    Raises:
        AnotherLog: It is not; the message names both.
    """
    refuse_changes({whose: changes(known, found)}, remedy)


def refuse_changes(said: Mapping[str, Sequence[str]], remedy: str = A_NEW_LOG) -> None:
    """Return if nothing is said of what anybody remembers.

    Args:
        said: In words, what is not what it was, by who remembers it; several may say the same.
        remedy: What a person can do.

    Raises:
        AnotherLog: Something is; the message has all of it, each once.
    """
    if not (whose := [name for name, words in said.items() if words]):
        return
    of_all = sorted({word for words in said.values() for word in words})
    more = f"; and {len(of_all) - SHOWN} topics more" if len(of_all) > SHOWN else ""
    raise AnotherLog(
        f"{' and '.join(whose)} belong{'s' if len(whose) == 1 else ''} to another log: "
        f"{'; '.join(of_all[:SHOWN])}{more}. Nothing was published. {remedy}"
    )


class Identities:
    """Asks Kafka who it is; holds a client, so that an answer takes milliseconds.

    Raises:
        SettingsInvalid: The client does not accept the settings.
    """

    def __init__(self, kafka: Kafka) -> None:
        self._kafka = kafka
        self._log = ClientLog()
        settings: dict[str, Any] = {**kafka.settings, "logger": self._log}
        try:
            self._admin = AdminClient(settings)
        except KafkaException as error:
            raise settings_refused(error) from error

    def identity(self, topics: Collection[str]) -> Identity:
        """Return the ids of the cluster, and of those of `topics` that exist.

        Raises:
            Unreachable: Kafka does not answer within the transaction timeout.
            VerdictError: Kafka refuses.
        """
        seconds = self._kafka.transaction_timeout_s
        try:
            cluster = list_topics(self._admin, seconds, self._last_failure)
        except KafkaException as error:
            raise self._failed(error) from error
        there = [topic for topic in topics if topic in cluster.topics]
        return Identity(cluster.cluster_id, self.topic_ids(there, seconds))

    def topic_ids(self, topics: Collection[str], seconds: float) -> dict[str, str]:
        """Return the id of each of `topics` that exists.

        Raises:
            Unreachable: Kafka does not answer within `seconds`.
            VerdictError: Kafka refuses.
        """
        found: dict[str, str] = {}
        if not topics:
            return found
        asked = self._admin.describe_topics(TopicCollection([*topics]), request_timeout=seconds)
        for topic, answer in asked.items():
            try:
                found[topic] = _as_kafkas_tools(str(answer.result(seconds + 1).topic_id))
            except KafkaException as error:
                if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise self._failed(error) from error
            except FutureTimeout as error:
                raise Unreachable(
                    f"{self._kafka} did not say within {seconds:g} s which id {topic} has: see "
                    "that it runs"
                ) from error
        return found

    def _failed(self, error: KafkaException) -> VerdictError:
        servers = str(self._kafka.settings.get("bootstrap.servers"))
        return kafka_failed("the topics' ids cannot be read", servers, error, self._last_failure())

    def _last_failure(self) -> str:
        self._admin.poll(0)  # hands over what was logged
        return self._log.last_failure


def _as_kafkas_tools(topic_id: str) -> str:
    """Return an id in the letters that `kafka-topics.sh --describe` shows, librdkafka has two."""
    return topic_id.replace("+", "-").replace("/", "_")
