"""A topic that was deleted for good gets a new one in its place, on a person's word.

The new one begins where the former had been read up to, so no place is given twice, and every
position that anybody has of it stays true. What only it held is gone: letters that the read side
has not seen, commands that were not decided. What the state is folded from cannot be renewed.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

from verdict.configuration.settings import Settings
from verdict.errors import VerdictError
from verdict.event_log.decisions import write_decisions
from verdict.event_log.followed_log import (
    Filled,
    filled,
    follow_instead,
    refuse_another_filling,
)
from verdict.event_log.passing import Wish
from verdict.exactly_once.belonging import require_log_of
from verdict.exactly_once.fencing import claim
from verdict.exactly_once.markers import read_marker
from verdict.exactly_once.query import Query
from verdict.exactly_once.topic_owner import check_topics_owner
from verdict.foundation.known_markers import queries_of
from verdict.kafka.access import Kafka
from verdict.kafka.filling import begin_at
from verdict.kafka.log import KafkaLog
from verdict.kafka.log_identity import Identities, Identity
from verdict.kafka.offsets import Offsets, by_topic
from verdict.kafka.topic_check import TopicAdmin
from verdict.model.source import Source
from verdict.wire.decision import Decision
from verdict.wire.marker import Marker
from verdict.wire.spans import Partition
from verdict.wire.topics import Topic, Topics


@dataclass(frozen=True, slots=True)
class _Memory:
    """What is remembered of the topics in other places than themselves."""

    markers: Sequence[tuple[Query, Marker]]
    read_side: Filled

    def without(self, names: Collection[str]) -> "_Memory":
        """Return all that is of other topics than these."""
        reached, noted, decisions = self.read_side
        left = {place: offset for place, offset in reached.items() if place.topic not in names}
        ids = _without(noted.topic_ids, names)
        return _Memory(
            [(q, replace(m, topic_ids=_without(m.topic_ids, names))) for q, m in self.markers],
            Filled(left, noted._replace(topic_ids=ids), decisions),
        )

    def ids(self, name: str) -> frozenset[str]:
        """Return the ids of a topic; several, where a renewal did not come to its end."""
        known = [self.read_side.noted.topic_ids, *(one.topic_ids for _, one in self.markers)]
        return frozenset(ids[name] for ids in known if name in ids)

    def reached(self, topic: Topic) -> dict[Partition, int]:
        """Return how far anybody had read each partition of a topic."""
        reached = {Partition(topic.name, number): 0 for number in range(topic.partitions)}
        for _, marker in self.markers:
            for number, offset in enumerate(marker.read.get(topic.name, ())):
                place = Partition(topic.name, number)
                reached[place] = max(reached.get(place, 0), offset)
        for place, offset in self.read_side.reached.items():
            if place.topic == topic.name:
                reached[place] = max(reached.get(place, 0), offset)
        return reached

    def is_decided(self, name: str) -> bool:
        """Tell whether its records were read to decide what follows from them."""
        return any(name in marker.read for _, marker in self.markers)


def renew_topics(settings: Settings, kafka: Kafka, names: Sequence[str], wish: Wish) -> Offsets:
    """Make new topics in the place of those that are gone, and let all who knew those know these.

    Interrupted, it can be done again.

    Args:
        settings: Of the deployment, which must not run.
        kafka: Where the topics were; all others of the deployment are there.
        names: The topics.
        wish: Who decides it, and why.

    Returns:
        Where each begins: next offset by partition, by topic.

    Raises:
        VerdictError: One cannot be renewed, is there as it was, or holds records of somebody else.
        AnotherLog: Another topic is gone as well, or the read side is of another log.
        OwnedByAnother: The topics are another deployment's.
        NotPublished: Somebody starts the deployment at the same time.
        Unreachable: Kafka or the database does not answer.
    """
    topics = settings.topics
    wanted = [_renewable(name, topics) for name in dict.fromkeys(names)]
    check_topics_owner(topics, kafka)
    memory = _Memory(_markers(settings, kafka), filled(settings))
    _see_that_they_are_others([topic.name for topic in wanted], memory, kafka)
    _see_that_all_else_is_there(settings, kafka, memory.without(names))
    begins = {one.name: memory.reached(one) | _refused(one, topics, kafka) for one in wanted}
    wanted = [replace(topic, partitions=len(begins[topic.name])) for topic in wanted]
    TopicAdmin(kafka.settings, topics).make(wanted)
    for places in begins.values():
        begin_at(kafka, places)
    _note(kafka, topics, memory, begins, wish)
    _let_them_be_known(settings, kafka, memory, [*begins])
    return by_topic({place: at for places in begins.values() for place, at in places.items()})


def _markers(settings: Settings, kafka: Kafka) -> list[tuple[Query, Marker]]:
    """Return who has a marker, which is the last one: nobody else is about to write a later one.

    Raises:
        VerdictError: The decider has none, so nobody knows how far anything was read.
        Unreachable: A transaction stays open, behind which there may be a later one.
    """
    found = [(query, read_marker(kafka, query, wait=True).marker) for query in queries_of(settings)]
    decider, marker = found[0]
    if marker is None:
        raise VerdictError(
            f"{decider.name} has no marker, so nobody knows how far a topic was read: before the "
            "first start `verdict up` creates all topics; where the marker is lost, bring it back"
        )
    return [(query, marker) for query, marker in found if marker is not None]


def _renewable(name: str, topics: Topics) -> Topic:
    """Return the topic as it must be.

    Raises:
        VerdictError: It is none of the deployment's, or nothing can stand in its place.
    """
    among = {topic.name: topic for topic in topics.all()}
    if name not in among:
        raise VerdictError(
            f"{name} is no topic of this deployment, which has {', '.join(sorted(among))}"
        )
    if name in {topics.markers, topics.owners, topics.replies}:
        raise VerdictError(
            f"{name} needs no renewal: `verdict up` creates it; where it asks for a marker, see "
            "`verdict recover --help`"
        )
    types = topics.application.aggregate_types
    folded = {*map(topics.events, types), *map(topics.responses, types), *topics.states}
    if name in folded:
        raise VerdictError(
            f"{name} cannot be renewed: the state is made from what was on it, and a new one would "
            "be empty. Start the Kafka that has it, from a backup if need be; or begin a new log "
            "beside this one, with a topic_prefix, a data_dir and a database_url of its own"
        )
    return among[name]


def _refused(topic: Topic, topics: Topics, kafka: Kafka) -> dict[Partition, int]:
    """Return where rejections lay at most, which the read side may not have reached.

    Each lies in the partition of its response, and was written in the same transaction.
    """
    if topic.name not in map(topics.rejected, topics.application.aggregate_types):
        return {}
    responses = topics.responses(topics.aggregate_of(topic.name))
    with KafkaLog(kafka.settings, kafka.transaction_timeout_s) as log:
        ends = log.written(log.places([responses]))
    return {Partition(topic.name, place.partition): end for place, end in ends.items()}


def _see_that_they_are_others(names: Iterable[str], memory: _Memory, kafka: Kafka) -> None:
    found = Identities(kafka).identity([*names]).topic_ids
    for name in names:
        if name in found and memory.ids(name) <= {found[name]}:
            raise VerdictError(
                f"{name} is there, and nobody remembers another one by that name: nothing is to be "
                "renewed; start the service with `verdict up`"
            )


def _see_that_all_else_is_there(settings: Settings, kafka: Kafka, others: _Memory) -> None:
    require_log_of(others.markers, kafka)
    refuse_another_filling(settings, kafka, others.read_side)


def _note(
    kafka: Kafka,
    topics: Topics,
    memory: _Memory,
    begins: Mapping[str, Mapping[Partition, int]],
    wish: Wish,
) -> None:
    """Write down who decided it; with all that was decided before, if that was on the topic."""
    before = memory.read_side.decisions if topics.decisions in begins else []
    decisions = [
        Decision(
            # what was decided is not passed over: whoever has read less than others never will
            source=Source(*place, begin if memory.is_decided(name) else 0),
            until=begin,
            who=wish.who,
            why=f"{name} was deleted, and a new one begins here: {wish.why}",
            decided_at=wish.at,
        )
        for name, places in begins.items()
        for place, begin in places.items()
        if begin or place.partition == 0
    ]
    write_decisions(kafka.settings, topics, [*before, *decisions])


def _let_them_be_known(
    settings: Settings, kafka: Kafka, memory: _Memory, names: Collection[str]
) -> None:
    found = Identities(kafka).identity(names)
    for query, _ in memory.markers:
        if not query.topics.isdisjoint(names):
            claim(query, kafka, partial(_renewed, query, kafka, found)).close()
    follow_instead(settings, found)


def _renewed(query: Query, kafka: Kafka, found: Identity) -> Marker:
    """Return the query's marker, now that nobody else can write it, with the new topics' ids."""
    marker = read_marker(kafka, query, wait=True).marker
    if marker is None:
        raise VerdictError(f"the marker of {query.name} was deleted meanwhile: try again")
    ids = {name: one for name, one in found.topic_ids.items() if name in query.topics}
    return replace(marker, topic_ids={**marker.topic_ids, **ids})


def _without(ids: Mapping[str, str], names: Collection[str]) -> dict[str, str]:
    return {name: one for name, one in ids.items() if name not in names}
