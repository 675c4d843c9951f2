"""Topics are created and checked at start-up, loudly; nothing else creates any."""

import logging
import time
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs hide two of them
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic

from verdict.adapters.kafka.connection import ClientLog
from verdict.adapters.kafka.errors import kafka_failed, settings_refused
from verdict.adapters.kafka.listing import list_topics
from verdict.adapters.kafka.topic_drift import (
    MISSING,
    Difference,
    TopicSettingsError,
    added_partitions,
    as_begun,
    wrong_partitions,
    wrong_settings,
)
from verdict.errors import TimedOutError, VerdictError
from verdict.wire.partitions import TopicPartition
from verdict.wire.topics import OWN_TIME, Topic, Topics

LOG = logging.getLogger("verdict.topics")
ANSWER_S = 30.0
LIST_S = 10.0
LOOK_AGAIN_S = 0.05
BROKERS_DEFAULT = -1
IN_SYNC = "min.insync.replicas"  # how many copies have what Kafka acknowledges
TWO = 2  # copies: less is gone with one broker


class TopicAdmin:
    """Creates and checks the topics of a deployment.

    Args:
        options: librdkafka's, `bootstrap.servers` and security among them.
        topics: What there must be.

    Raises:
        InvalidSettingsError: librdkafka does not accept the options.
    """

    def __init__(self, options: Mapping[str, str | int], topics: Topics) -> None:
        self._servers = str(options["bootstrap.servers"])
        self._log = ClientLog()
        settings: dict[str, Any] = {**options, "logger": self._log}
        try:
            self._admin = AdminClient(settings)
        except KafkaException as error:
            raise settings_refused(error) from error
        self._topics = topics

    def reach(self) -> None:
        """Return when Kafka has let us in and answered.

        Raises:
            UnreachableError: It has not; names the settings to look at.
        """
        self._listed()

    def create_missing(self) -> list[str]:
        """Create the topics that do not exist, with their settings; return their names.

        Raises:
            UnreachableError: Kafka does not answer.
            TimedOutError: A new topic cannot be used within half a minute.
            VerdictError: Kafka refuses one.
        """
        return self.create(self._topics.all())

    def make(self, topics: Sequence[Topic]) -> None:
        """Create those of `topics` that do not exist, and set those that others have created right.

        One that is not ours may have any settings, and more partitions.

        Raises:
            VerdictError: One has another number of partitions, or may not be changed.
            UnreachableError, TimedOutError: As for `create_missing`.
        """
        self.create(topics)
        _, known = self._cluster()
        for topic in topics:
            found = known[topic.name]
            if found < topic.partitions or (topic.ours and found > topic.partitions):
                raise VerdictError(
                    f"{topic.name} was created anew by somebody and has {found} "
                    f"partitions, and {topic.partitions} are needed: delete it, and try again (the "
                    "embedded Kafka answers while `verdict run broker` runs)"
                )
        wanted = {topic.name: topic.settings for topic in topics if topic.ours}
        if left := wanted.keys() - self._told(wanted):
            raise VerdictError(
                f"the settings of {', '.join(sorted(left))} cannot be set: see that this user may "
                "alter topics, and try again"
            )

    def create(self, topics: Iterable[Topic]) -> list[str]:
        """Create those of `topics` that do not exist; return and raise as `create_missing`."""
        brokers, known = self._cluster()
        # one broker cannot hold more than one copy, whatever its default says
        copies = 1 if brokers == 1 else BROKERS_DEFAULT
        missing = [
            NewTopic(topic.name, topic.partitions, copies, config=topic.settings)
            for topic in topics
            if topic.name not in known
        ]
        if not missing:
            return []
        created = []
        for name, answer in self._admin.create_topics(missing).items():
            try:
                answer.result(ANSWER_S)
                created.append(name)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.TOPIC_ALREADY_EXISTS:  # somebody was faster
                    raise self._failed(f"topic {name} cannot be created", error) from error
        self._await({topic.topic for topic in missing})
        return created

    def counts(self) -> dict[str, int]:
        """Return how many partitions each topic of the deployment has that is there.

        Raises:
            UnreachableError: Kafka does not answer.
        """
        _, known = self._cluster()
        return {one.name: known[one.name] for one in self._topics.all() if one.name in known}

    def fragile(self) -> list[str]:
        """Return the topics of which one of several brokers can take what Kafka has acknowledged.

        They have one copy, or Kafka acknowledges what lies in one (`min.insync.replicas`).

        Raises:
            UnreachableError: Kafka does not answer.
        """
        cluster = self._listed()
        if len(cluster.brokers) == 1:
            return []
        there = [one for one in self._topics.all() if one.ours and one.name in cluster.topics]
        found = self._settings(there)
        return [
            topic.name
            for topic in there
            if int(found[topic.name][IN_SYNC]) < TWO
            or any(len(p.replicas) < TWO for p in cluster.topics[topic.name].partitions.values())
        ]

    def differences(
        self,
        decided: Mapping[str, Sequence[int]] | None = None,
        accepted: Container[TopicPartition] = (),
    ) -> list[Difference]:
        """Return all that is missing or differs, sorted by topic.

        A topic that is not ours may only be missing.

        Raises:
            UnreachableError: Kafka does not answer.
            VerdictError: Kafka does not let us see a topic's settings.
        """
        _, known = self._cluster()
        ours = [topic for topic in self._topics.all() if topic.name in known and topic.ours]
        found = self._settings(ours)
        decided = decided or {}
        written = as_begun(self._topics, decided, accepted).outputs()
        differences = []
        for topic in self._topics.all():
            if topic.name not in known:
                advice = "create it with `verdict topics create`"
                differences.append(Difference(topic.name, MISSING, "missing", "there", advice))
                continue
            if topic.name in written:
                count = written[topic.name]
                differences += added_partitions(topic.name, known[topic.name], count, accepted)
            elif topic.ours:
                first = len(decided.get(topic.name, ())) or None
                differences += wrong_partitions(topic, known[topic.name], accepted, first)
            if topic.ours:
                differences += wrong_settings(topic, found[topic.name])
        return sorted(differences, key=lambda difference: difference.topic)

    def ensure(
        self,
        decided: Mapping[str, Sequence[int]] | None = None,
        accepted: Container[TopicPartition] = (),
    ) -> list[str]:
        """Create what is missing and check everything; return the names of what was created.

        A topic of ours that takes times of its senders is set to take Kafka's own, where we may,
        unless the start is refused for something else.

        Raises:
            TopicSettingsError: Lists every difference.
            UnreachableError, TimedOutError, VerdictError: As for the parts.
        """
        created = self.create_missing()
        found = self.differences(decided, accepted)
        times = [one for one in found if one.setting in OWN_TIME]
        fatal = [one for one in found if one.fatal]
        if fatal == times:
            set_right = self._told({one.topic: OWN_TIME for one in times})
            fatal = [one for one in times if one.topic not in set_right]
            for topic in sorted(set_right):
                LOG.warning("%s took the times of its senders: it is set to take Kafka's", topic)
        if fatal:
            raise TopicSettingsError(fatal)
        if added := [one.topic for one in found if not one.fatal]:
            LOG.warning(
                "somebody added partitions to %s topics: %s; verdict writes to the first ones "
                "only, as before: see `verdict topics check`",
                len(added), ", ".join(added),
            )  # fmt: skip
        return created

    def _told(self, settings: Mapping[str, Mapping[str, str]]) -> set[str]:
        """Return the topics that took their settings; what is set besides stays."""
        topics = [
            ConfigResource(
                ResourceType.TOPIC,
                topic,
                incremental_configs=[
                    ConfigEntry(name, value, incremental_operation=AlterConfigOpType.SET)
                    for name, value in of_topic.items()
                ],
            )
            for topic, of_topic in settings.items()
        ]
        answers = self._admin.incremental_alter_configs(topics) if topics else {}
        return {one.name for one, answer in answers.items() if not answer.exception(ANSWER_S)}

    def _await(self, names: set[str]) -> None:
        """Return when topics that were just created can be used."""
        deadline = time.monotonic() + ANSWER_S
        while names - self._usable():
            if time.monotonic() > deadline:
                raise TimedOutError(
                    f"topics {', '.join(sorted(names - self._usable()))} were created and have no "
                    f"leader after {ANSWER_S:g} s: see the brokers' logs, then start again"
                )
            time.sleep(LOOK_AGAIN_S)

    def _usable(self) -> set[str]:
        return {
            name
            for name, topic in self._listed().topics.items()
            if topic.partitions and all(p.leader >= 0 for p in topic.partitions.values())
        }

    def _cluster(self) -> tuple[int, dict[str, int]]:
        """Return the number of brokers, and the partition count of every topic."""
        cluster = self._listed()
        return len(cluster.brokers), {
            name: len(topic.partitions) for name, topic in cluster.topics.items()
        }

    def _listed(self) -> Any:
        try:
            return list_topics(self._admin, LIST_S, self._last_failure)
        except KafkaException as error:
            raise self._failed("the topics cannot be listed", error) from error

    def _settings(self, topics: Sequence[Topic]) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        if not topics:
            return found
        asked = [ConfigResource(ResourceType.TOPIC, topic.name) for topic in topics]
        for resource, answer in self._admin.describe_configs(asked).items():
            try:
                entries = answer.result(ANSWER_S)
            except KafkaException as error:
                raise self._failed(f"settings of {resource.name} are hidden", error) from error
            found[resource.name] = {name: str(entry.value) for name, entry in entries.items()}
        return found

    def _failed(self, what: str, error: KafkaException) -> VerdictError:
        return kafka_failed(what, self._servers, error, self._last_failure())

    def _last_failure(self) -> str:
        self._admin.poll(0)  # hands over what was logged
        return self._log.last_failure
