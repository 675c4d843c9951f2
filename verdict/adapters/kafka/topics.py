"""Creates and checks topics at the start; nothing else creates any."""

import logging
import time
from collections.abc import Container, Iterable, Mapping, Sequence

from confluent_kafka import KafkaError, KafkaException
from confluent_kafka.admin import (  # type: ignore[attr-defined]  # its stubs hide two of them
    ClusterMetadata,
    ConfigResource,
    ResourceType,
)
from confluent_kafka.cimpl import NewTopic

from verdict.adapters.kafka.connection import AdminConnection
from verdict.adapters.kafka.topic_drift import (
    MISSING,
    Difference,
    TopicSettingsError,
    added_partitions,
    as_begun,
    wrong_partitions,
    wrong_settings,
)
from verdict.errors import TimedOutError
from verdict.wire.partitions import TopicPartition
from verdict.wire.topics import Topic, Topics

LOG = logging.getLogger("verdict.topics")
ANSWER_S = 30.0
LIST_S = 10.0
LOOK_AGAIN_S = 0.05
BROKERS_DEFAULT = -1


class TopicAdmin:
    """Creates and checks the topics of a deployment."""

    def __init__(self, options: Mapping[str, str | int], topics: Topics) -> None:
        self._client = AdminConnection(options)
        self._admin = self._client.admin
        self._topics = topics

    def reach(self) -> None:
        """Return if Kafka lets us in and answers."""
        self._listed()

    def create_missing(self) -> list[str]:
        """Create the topics that do not exist, with their settings; return their names."""
        return self.create(self._topics.all())

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
                    raise self._client.failed(f"topic {name} cannot be created", error) from error
        self._await({topic.topic for topic in missing})
        return created

    def counts(self) -> dict[str, int]:
        """Return the number of partitions of each topic of the deployment that exists."""
        _, known = self._cluster()
        return {one.name: known[one.name] for one in self._topics.all() if one.name in known}

    def differences(
        self,
        decided: Mapping[str, Sequence[int]] | None = None,
        accepted: Container[TopicPartition] = (),
    ) -> list[Difference]:
        """Return all that is missing or differs, sorted by topic.

        A topic that is not ours may only be missing.
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
        """Create what is missing and check everything; return the names of what was created."""
        created = self.create_missing()
        found = self.differences(decided, accepted)
        if fatal := [one for one in found if one.fatal]:
            raise TopicSettingsError(fatal)
        if added := [one.topic for one in found]:
            LOG.warning(
                "somebody added partitions to %s topics: %s; verdict writes to the first ones "
                "only, as before: see `verdict topics check`",
                len(added), ", ".join(added),
            )  # fmt: skip
        return created

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
        cluster = self._listed()
        return len(cluster.brokers), {
            name: len(topic.partitions) for name, topic in cluster.topics.items()
        }

    def _listed(self) -> ClusterMetadata:
        return self._client.listed(LIST_S, "the topics cannot be listed")

    def _settings(self, topics: Sequence[Topic]) -> dict[str, dict[str, str]]:
        found: dict[str, dict[str, str]] = {}
        if not topics:
            return found
        asked = [ConfigResource(ResourceType.TOPIC, topic.name) for topic in topics]
        for resource, answer in self._admin.describe_configs(asked).items():
            try:
                entries = answer.result(ANSWER_S)
            except KafkaException as error:
                what = f"settings of {resource.name} are hidden"
                raise self._client.failed(what, error) from error
            found[resource.name] = {name: str(entry.value) for name, entry in entries.items()}
        return found
