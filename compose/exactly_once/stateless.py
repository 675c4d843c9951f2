"""Becoming the owner of a query without state: its marker alone says where it goes on.

Nothing that Spark keeps matters to such a query, so each start begins a new generation, with a
fresh checkpoint, at the offsets where the marker ends.
"""

from dataclasses import replace

from compose.exactly_once.claim import new_owner, write_marker
from compose.exactly_once.errors import Misfit
from compose.exactly_once.kafka import Kafka
from compose.exactly_once.markers import first_offsets, holds_records, read_marker
from compose.exactly_once.owner import genesis
from compose.exactly_once.publisher import Publisher
from compose.exactly_once.query import Query
from compose.exactly_once.steps import OnStep, Step, unobserved
from compose.exactly_once.transactions import Transactions
from schemas.marker import Marker


def begin_anew(query: Query, kafka: Kafka, on_step: OnStep = unobserved) -> Publisher:
    """Become the owner of `query`, whoever was; a former owner is fenced.

    Args:
        query: Its names, inputs and rules.
        kafka: Where it runs.
        on_step: Called at each step, here and in every `publish`.

    Returns:
        The publisher. Its marker has the offsets that Spark must start with, for a checkpoint
        that holds nothing; a topic that is missing there starts with its first record.

    Raises:
        Misfit: There are outputs, but no marker says how far they go.
        NotPublished: The claim failed, as when somebody else starts at the same time.
        Unreachable: Kafka does not answer, or a transaction on the markers topic stays open.
        VerdictError: A topic is missing, or Kafka refuses.
    """
    transactions = Transactions(kafka, query.transactional_id)
    try:
        on_step(Step.INITIALISED)
        former = read_marker(kafka, query, wait=True).marker
        if former is None:
            _refuse_outputs(query, kafka)
        begun = genesis(query, former, _offsets(query, kafka, former), query.first_shards)
        claim = replace(begun, owner=new_owner())
        transactions = write_marker(transactions, query, kafka, claim, on_step)
        on_step(Step.CLAIMED)
    except BaseException:
        transactions.close()
        raise
    return Publisher(query, kafka, transactions, claim, on_step)


def _offsets(query: Query, kafka: Kafka, former: Marker | None) -> dict[str, list[int]]:
    known = {} if former is None else former.offsets
    return first_offsets(kafka, query.inputs) | dict(known)


def _refuse_outputs(query: Query, kafka: Kafka) -> None:
    if holds_records(kafka, query.outputs):
        raise Misfit(
            f"{query.name} cannot start: {', '.join(query.outputs)} hold records, and no marker in "
            f"{query.markers} says what they follow from; starting at the beginning would send all "
            f"of it again: bring the marker back, or empty these topics"
        )
