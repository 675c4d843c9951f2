"""Topics have one owner: the deployment that is written down beside them.

Nothing that bears a deployment's name could tell: two of different names would each find their
own marker, and decide every command twice. The record is a marker like those of queries: its owner
is a deployment, and it counts as long as topics with the ids in it exist.
"""

from collections.abc import Sequence

from verdict.errors import VerdictError
from verdict.exactly_once.batch import OutputRecord
from verdict.exactly_once.claim import write_marker
from verdict.exactly_once.errors import UnreadableMarker
from verdict.exactly_once.fit import FIRST_GENERATION, NO_BATCH
from verdict.exactly_once.markers import read_marker
from verdict.exactly_once.query import Query
from verdict.exactly_once.transactions import Transactions
from verdict.kafka.access import Kafka
from verdict.kafka.identity import Identities, Identity
from verdict.wire.marker import Marker
from verdict.wire.topics import Topics

NAME = "owner"


class OwnedByAnother(VerdictError):
    """The topics are those of another deployment."""


def own_topics(topics: Topics, kafka: Kafka) -> None:
    """Let these topics be those of this deployment, if they are nobody else's.

    Args:
        topics: Of the deployment; they exist.
        kafka: Where they are.

    Raises:
        OwnedByAnother: Another deployment has them; it is named, and not disturbed.
        UnreadableMarker: What is written down of the owner is no marker; nobody gets in by that.
        NotPublished: Somebody else claims them at the same time.
        Unreachable: Kafka does not answer.
    """
    query = _query(topics)
    found = Identities(kafka).identity(query.topics)
    if _owned(query, kafka, topics, found, wait=False):
        return
    # who was killed in a claim leaves a transaction open, and this ends it
    transactions = Transactions(kafka, query.transactional_id)
    try:
        if not _owned(query, kafka, topics, found, wait=True):  # now nobody else can write it
            claim = _claim(query, topics.deployment, found)
            transactions = write_marker(transactions, query, kafka, claim)
    finally:
        transactions.close()


def own_anew(topics: Topics, kafka: Kafka, beside: Sequence[OutputRecord]) -> None:
    """Let these topics be those of this deployment, on a person's word, as nothing says whose.

    Args:
        topics: Of the deployment; they exist.
        kafka: Where they are.
        beside: Who decided that, written in the same transaction.

    Raises:
        OwnedByAnother: They are another's.
        VerdictError: They are ours.
        NotPublished: Somebody else claims them at the same time.
        Unreachable: Kafka does not answer.
    """
    query = _query(topics)
    found = Identities(kafka).identity(query.topics)
    transactions = Transactions(kafka, query.transactional_id)
    try:
        if _is_known_as_ours(query, kafka, topics, found):
            raise VerdictError(f"the topics are those of {topics.deployment!r} already")
        claim = _claim(query, topics.deployment, found)
        transactions = write_marker(transactions, query, kafka, claim, beside=beside)
    finally:
        transactions.close()


def _is_known_as_ours(query: Query, kafka: Kafka, topics: Topics, found: Identity) -> bool:
    try:
        return _owned(query, kafka, topics, found, wait=True)
    except UnreadableMarker:
        return False  # which is why somebody decides


def refuse_another_owner(topics: Topics, kafka: Kafka) -> None:
    """Return if the topics, as far as they exist, are not those of another deployment.

    Raises:
        OwnedByAnother: They are, by a claim that is committed; `own_topics` waits for others.
        UnreadableMarker: As for `own_topics`.
        Unreachable: Kafka does not answer.
    """
    query = _query(topics)
    identities = Identities(kafka)
    if identities.identity([topics.owners]).topic_ids:
        _owned(query, kafka, topics, identities.identity(query.topics), wait=False)


def is_owner(marker: Marker | None, deployment: str, found: Identity) -> bool:
    """Tell whether `marker` says that these topics, all of them, are those of `deployment`.

    Raises:
        OwnedByAnother: Topics that exist are another one's.
    """
    if marker is None:
        return False
    if marker.owner == deployment:
        return (marker.cluster_id, marker.topic_ids) == (found.cluster_id, found.topic_ids)
    theirs = sorted(dict(marker.topic_ids.items() & found.topic_ids.items()))
    if theirs:
        more = f" and {len(theirs) - 1} more" if len(theirs) > 1 else ""
        raise OwnedByAnother(
            f"{theirs[0]}{more} belong to the deployment {marker.owner!r}, and this one is "
            f"{deployment!r}: both would decide every command. Nothing was published. Set "
            f"deployment to {marker.owner!r} to go on with that one, or give this one a "
            "topic_prefix of its own"
        )
    return False


def _owned(query: Query, kafka: Kafka, topics: Topics, found: Identity, *, wait: bool) -> bool:
    try:
        marker = read_marker(kafka, query, wait=wait).marker
    except UnreadableMarker as error:
        raise UnreadableMarker(
            f"the last record of {topics.owners} under the key {NAME!r} is none of verdict's, so "
            "nobody knows which deployment the topics belong to: see who wrote it, then let the "
            f"deployment whose topics these are say so: `verdict recover --begin {NAME} --why …`"
        ) from error
    return is_owner(marker, topics.deployment, found)


def _query(topics: Topics) -> Query:
    return Query(
        name=NAME,
        transactional_id=topics.owners,
        markers=topics.owners,
        inputs=(),
        outputs=(),
        others=tuple(topics.of_the_log()),
        handler_version="",
        first_shards=1,
    )


def _claim(query: Query, deployment: str, found: Identity) -> Marker:
    return Marker(
        query=query.name,
        owner=deployment,
        generation=FIRST_GENERATION,
        query_id=None,
        batch_id=NO_BATCH,
        digest=b"",
        offsets={},
        shards=query.first_shards,
        handler_version=query.handler_version,
        cluster_id=found.cluster_id,
        topic_ids=dict(found.topic_ids),
    )
