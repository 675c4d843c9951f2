"""Whether a log is the one that somebody remembers, as names say nothing (KIP-516).

A log is known by the id of its cluster and the ids of its topics. A broker that lost its disk may
have a shorter or another log under the same ids, so ends and last records are compared too.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import TimeoutError as FutureTimeout
from dataclasses import dataclass, field
from hashlib import sha256
from typing import NamedTuple

from confluent_kafka import KafkaError, KafkaException, TopicCollection

from verdict.adapters.kafka.connection import AdminConnection, KafkaConfig
from verdict.adapters.kafka.offsets import Offsets, by_topic, offsets_at
from verdict.adapters.kafka.reader import KafkaLog, place_of
from verdict.errors import UnreachableError, VerdictError
from verdict.wire.partitions import OffsetRange, TopicPartition

SHOWN = 12  # topics
UNKNOWN_IDS = "the topics' ids cannot be read"
NEW_LOG = (
    "Check bootstrap_servers. A topic's id comes back with the files of its brokers only: start "
    "the Kafka that has it, from a backup if need be. If it is gone for good, `verdict recover` "
    "creates it again, unless events, responses or states were on it; else begin a new log next to "
    "this one, with a topic_prefix, a data_dir and a database_url of its own"
)
LOST = (
    "Nothing was changed. If this is the wrong Kafka or the wrong database, start with the two "
    "that belong together (bootstrap_servers, database_url). If Kafka has lost records, as one "
    "that does not flush may in a power failure, run `verdict recover --restore-events --reason "
    "…`: it appends the lost events again from the archive in this database. To bring back Kafka's "
    "directory (of the embedded Kafka: `broker` in the data directory) from a backup that goes as "
    "far is better still. Never go on with an empty database: versions and offsets of the lost "
    "events would be given a second time"
)


class DifferentLogError(VerdictError):
    """What was remembered of Kafka is of another cluster, or of topics that are gone."""


class Identity(NamedTuple):
    """A cluster's id, None if it is not known, and the id of each topic that exists."""

    cluster_id: str | None
    topic_ids: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembered:
    """What somebody wrote down of the log that they read or write.

    Args:
        whose: Who, for people, such as "the progress record of decider".
        ids: Of the cluster and of topics that still matter; what is unknown is not compared.
        reached: Up to where partitions were read: the next offset.
        records: Of partitions, the offset of a record and SHA-256 of its value in hex.
        remedy: What an operator can do if the ids differ.
    """

    whose: str
    ids: Identity
    reached: Mapping[TopicPartition, int] = field(default_factory=dict)
    records: Mapping[TopicPartition, tuple[int, str]] = field(default_factory=dict)
    remedy: str = NEW_LOG


def require_same_log(
    kafka: KafkaConfig, remembered: Sequence[Remembered], topics: Collection[str] = ()
) -> Identity:
    """Return the ids of `topics` and of all that is remembered, if all of it is of this log.

    Raises:
        DifferentLogError: A topic was deleted, whether created again or not, or it is another
            cluster; or Kafka has lost the end of what was read, or has another record there. Names
            every difference.
        UnreachableError: Kafka does not answer.
    """
    read = [place.topic for one in remembered for place in one.reached]
    known = [topic for one in remembered for topic in one.ids.topic_ids]
    found = Identities(kafka).identity({*topics, *read, *known})
    require_same_ids(remembered, found)
    if any(one.reached or one.records for one in remembered):
        with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
            there = found.topic_ids.keys() & read
            ends = by_topic(log.written(log.places(there))) if there else {}
            for one in remembered:
                lost = beyond(one.reached, ends) or [*_replaced(log, one.records)]
                _refuse({one.whose: lost}, LOST)
    return found


def require_same_ids(remembered: Sequence[Remembered], found: Identity) -> None:
    """Return if the remembered ids are those that were found; raises as `require_same_log`."""
    changed = {one.whose: changes(one.ids, found) for one in remembered}
    remedy = next((one.remedy for one in remembered if changed[one.whose]), "")
    _refuse(changed, remedy)


def require_same_topics(remembered: Remembered, identities: "Identities", seconds: float) -> None:
    """Return if the remembered topics are those of now; raises as `require_same_log`."""
    found = identities.topic_ids(remembered.ids.topic_ids, seconds)
    require_same_ids([remembered], Identity(remembered.ids.cluster_id, found))


def changes(known: Identity, found: Identity) -> list[str]:
    """Return a sentence for each id that differs from what was known."""
    if known.cluster_id not in (None, found.cluster_id):  # none of its topics can be the same
        return [f"the cluster's id was {known.cluster_id} and is {found.cluster_id}"]
    changed = []
    for topic, was in sorted(known.topic_ids.items()):
        now = found.topic_ids.get(topic)
        if now is None:
            changed.append(f"{topic} had the id {was} and is gone")
        elif now != was:
            changed.append(
                f"{topic} had the id {was} and has {now}: it was deleted and created again"
            )
    return changed


def beyond(reached: Mapping[TopicPartition, int], ends: Offsets) -> list[str]:
    """Return a sentence for each position after the end of its partition."""
    return [
        f"{place} was read up to offset {offset}, and Kafka has it up to {end} only"
        for place, offset in sorted(reached.items())
        if offset > (end := offsets_at(ends, place))
    ]


def _replaced(log: KafkaLog, records: Mapping[TopicPartition, tuple[int, str]]) -> Iterator[str]:
    """Yield a sentence for each place where Kafka has another record; dropped ones do not count."""
    kept = log.bounds([*records])
    wanted = {
        place: OffsetRange(offset, offset + 1)
        for place, (offset, _) in records.items()
        if kept[place].start <= offset < kept[place].end
    }
    hashes = {place_of(one): sha256(one.value() or b"") for one in log.read(wanted)}
    for place in wanted:
        offset, known = records[place]
        if place not in hashes or hashes[place].hexdigest() != known:
            yield (
                f"{place}:{offset} was archived with the SHA-256 {known[:16]}…, and Kafka has "
                "another record there"
            )


def _refuse(differences: Mapping[str, Sequence[str]], remedy: str) -> None:
    """Raise DifferentLogError with all differences, each once, if there are any."""
    if not (whose := [name for name, found in differences.items() if found]):
        return
    of_all = sorted({one for found in differences.values() for one in found})
    more = f"; and {len(of_all) - SHOWN} topics more" if len(of_all) > SHOWN else ""
    raise DifferentLogError(
        f"{' and '.join(whose)} belong{'s' if len(whose) == 1 else ''} to another log: "
        f"{'; '.join(of_all[:SHOWN])}{more}. Nothing was published. {remedy}"
    )


class Identities:
    """Asks Kafka for ids; holds a client, so that an answer takes milliseconds."""

    def __init__(self, kafka: KafkaConfig, more: Mapping[str, int] | None = None) -> None:
        self._kafka = kafka
        self._client = AdminConnection(kafka.settings, more)

    def identity(self, topics: Collection[str]) -> Identity:
        """Return the ids of the cluster, and of those of `topics` that exist."""
        seconds = self._kafka.transaction_timeout_s
        cluster = self._client.listed(seconds, UNKNOWN_IDS)
        there = [topic for topic in topics if topic in cluster.topics]
        return Identity(cluster.cluster_id, self.topic_ids(there, seconds))

    def topic_ids(self, topics: Collection[str], seconds: float) -> dict[str, str]:
        """Return the id of each of `topics` that exists."""
        found: dict[str, str] = {}
        if not topics:
            return found
        admin = self._client.admin
        asked = admin.describe_topics(TopicCollection([*topics]), request_timeout=seconds)
        for topic, answer in asked.items():
            try:
                topic_id = str(answer.result(seconds + 1).topic_id)
            except KafkaException as error:
                if error.args[0].code() != KafkaError.UNKNOWN_TOPIC_OR_PART:
                    raise self._client.failed(UNKNOWN_IDS, error) from error
            except FutureTimeout as error:
                raise UnreachableError(
                    f"{self._kafka} did not say within {seconds:g} s which id {topic} has: see "
                    "that it runs"
                ) from error
            else:  # in the letters that `kafka-topics.sh --describe` shows
                found[topic] = topic_id.replace("+", "-").replace("/", "_")
        return found

    def last_failure(self) -> str:
        """Return why the last connection failed."""
        return self._client.last_failure()
