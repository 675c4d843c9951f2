"""Becoming the owner of a query without state: its marker alone says where it goes on.

Nothing that Spark keeps matters to such a query, so each start begins a new generation, with a
fresh checkpoint, at the offsets where the marker ends.
"""

from verdict.exactly_once.errors import Misfit
from verdict.exactly_once.markers import first_offsets, holds_records, read_marker
from verdict.exactly_once.owner import genesis, own
from verdict.exactly_once.publisher import Publisher
from verdict.exactly_once.query import Query
from verdict.exactly_once.steps import OnStep, unobserved
from verdict.kafka.access import Kafka
from verdict.wire.marker import Marker


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
        AnotherLog: The marker is of another cluster, or of topics that are no more.
        NotPublished: The claim failed, as when somebody else starts at the same time.
        Unreachable: Kafka does not answer, or a transaction on the markers topic stays open.
        VerdictError: A topic is missing, or Kafka refuses.
    """

    def former() -> Marker:
        marker = read_marker(kafka, query, wait=True).marker
        if marker is None:
            _refuse_outputs(query, kafka)
        return genesis(query, marker, _offsets(query, kafka, marker), query.first_shards)

    return own(query, kafka, former, on_step)


def _offsets(query: Query, kafka: Kafka, former: Marker | None) -> dict[str, list[int]]:
    known = {} if former is None else former.offsets
    return first_offsets(kafka, query.inputs) | dict(known)


def _refuse_outputs(query: Query, kafka: Kafka) -> None:
    if holds_records(kafka, query.outputs):
        raise Misfit(
            f"{query.name} cannot start: {', '.join(query.outputs)} hold records, and no marker in "
            f"{query.markers} says what they follow from; starting at the beginning would send all "
            f"of it again: let it begin at the ends of {', '.join(query.inputs)}, on record, with "
            f"{query.remedy}"
        )
