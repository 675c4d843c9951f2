"""The owner of the topics: one deployment, whatever its name.

Two deployments of different names would each find a progress of their own, and decide each command
twice. So the topic `owners` has a progress record whose owner is the deployment. It counts as long
as topics with its ids exist.
"""

from collections.abc import Sequence
from dataclasses import replace

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.log_identity import Identities, Identity
from verdict.errors import VerdictError
from verdict.streaming.exactly_once.batch import OutputRecord
from verdict.streaming.exactly_once.errors import UnreadableProgressRecordError
from verdict.streaming.exactly_once.fencing import genesis, write_progress
from verdict.streaming.exactly_once.query import OWNER, Query
from verdict.streaming.exactly_once.read_progress import read_progress, read_progress_now
from verdict.streaming.exactly_once.transactions import Transactions
from verdict.wire.progress_record import ProgressRecord
from verdict.wire.topics import Topics


class OtherOwnerError(VerdictError):
    """The topics are those of another deployment."""


def claim_topics(
    topics: Topics,
    kafka: KafkaConfig,
    decision: Sequence[OutputRecord] = (),
    *,
    are_new: bool = False,
) -> None:
    """Make the topics those of this deployment; raise OtherOwnerError if they are another one's.

    `decision` is an operator's decision that they are, if nothing readable says whose they are. It
    is written in the same transaction. If the topics `are_new`, they have no owner yet, and a look
    before the transaction would only wait for their leader.
    """
    query = _query_of_topics(topics)
    found = Identities(kafka).identity(query.topics)
    if not (decision or are_new) and _are_ours(query, kafka, topics, found):
        return
    # a process that was killed in a claim leaves a transaction open, and this ends it
    transactions = Transactions(kafka, query.transactional_id)
    try:
        if not _are_ours(query, kafka, topics, found, wait=True, is_decided=bool(decision)):
            progress = replace(
                genesis(query, None, {}, query.first_shards),
                owner=topics.deployment,
                cluster_id=found.cluster_id,
                topic_ids=dict(found.topic_ids),
            )
            transactions = write_progress(
                transactions, query, kafka, progress, extra_records=decision
            )
        elif decision:
            raise VerdictError(f"the topics are those of {topics.deployment!r} already")
    finally:
        transactions.close()


def check_topics_owner(topics: Topics, kafka: KafkaConfig) -> None:
    """Raise OtherOwnerError if another deployment has claimed topics that exist."""
    query = _query_of_topics(topics)
    _are_ours(query, kafka, topics, Identities(kafka).identity(query.topics))


def is_owner(progress: ProgressRecord | None, deployment: str, found: Identity) -> bool:
    """Return whether `progress` says that these topics, all of them, are those of `deployment`."""
    if progress is None:
        return False
    if progress.owner == deployment:
        return (progress.cluster_id, progress.topic_ids) == (found.cluster_id, found.topic_ids)
    theirs = sorted(dict(progress.topic_ids.items() & found.topic_ids.items()))
    if theirs:
        more = f" and {len(theirs) - 1} more" if len(theirs) > 1 else ""
        raise OtherOwnerError(
            f"{theirs[0]}{more} belong to the deployment {progress.owner!r}, and this one is "
            f"{deployment!r}: both would decide every command. Nothing was published. Set "
            f"deployment to {progress.owner!r} to go on with that one, or give this one a "
            "topic_prefix of its own"
        )
    return False


def _are_ours(
    query: Query,
    kafka: KafkaConfig,
    topics: Topics,
    found: Identity,
    *,
    wait: bool = False,
    is_decided: bool = False,
) -> bool:
    try:
        progress = (
            read_progress(kafka, query, wait=True).progress
            if wait
            else read_progress_now(kafka, query)
        )
    except UnreadableProgressRecordError as error:
        if is_decided:
            return False
        raise UnreadableProgressRecordError(
            f"the last record of {topics.owners} under the key {OWNER!r} is none of verdict's, so "
            "nothing says which deployment the topics belong to: see who wrote it, then let the "
            f"deployment whose topics these are say so: {query.remedy}"
        ) from error
    return is_owner(progress, topics.deployment, found)


def _query_of_topics(topics: Topics) -> Query:
    return Query(
        name=OWNER,
        transactional_id=topics.owners,
        progress_topic=topics.owners,
        inputs=(),
        others=[*topics.of_the_log()],
        handler_version="",
    )
