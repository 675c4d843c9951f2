"""The processor of the reactions: one Kafka transaction per batch."""

import logging
from collections.abc import Collection
from functools import partial

from pyspark.sql import DataFrame

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.spark.record_times import is_time_overflow, read_without_spark
from verdict.adapters.storage.folders import durable_dir
from verdict.reactions.policies.reaction import reactions_of, reactions_query
from verdict.reactions.policies.reaction_task import followed
from verdict.settings.settings import Settings
from verdict.streaming.event_log.skip_log import read_skips
from verdict.streaming.event_log.skips import (
    NO_WISH,
    SkipLog,
    dead_letters_of,
    plan_skips,
)
from verdict.streaming.exactly_once.batch import SourceBatch
from verdict.streaming.exactly_once.failpoints import OnStep, ignore_step
from verdict.streaming.exactly_once.outputs import Outputs, chunks_of
from verdict.streaming.exactly_once.publisher import Publisher
from verdict.streaming.queries.kafka_source import StreamContext
from verdict.streaming.queries.stateless import StatelessProcessor

LOG = logging.getLogger("verdict.streaming.queries")
ROWS = 2_000  # at a time: each may become several records, of which a transaction must hold all


def start_reactions(
    ground: StreamContext,
    settings: Settings,
    on_step: OnStep = ignore_step,
    with_history: Collection[str] = (),
) -> StatelessProcessor:
    """Return the one processor for everything that follows, not started."""
    reactions = reactions_of(settings)
    outputs = Outputs(durable_dir(settings) / "policies")

    follow = partial(
        followed,
        reactions=reactions,
        max_command_bytes=settings.max_command_bytes,
        folder=outputs.folder,
    )

    def publish(frame: DataFrame, batch: SourceBatch, publisher: Publisher) -> None:
        try:
            table = frame.toArrow()  # once: every evaluation reads Kafka again
        except Exception as error:
            if not is_time_overflow(error):
                raise
            LOG.warning("a record of another system has a time that Spark cannot hold: %s", batch)
            records = read_without_spark(ground.spark, ground.kafka, batch.spans)
            table = follow(records).toArrow()
        publisher.publish(batch, partial(chunks_of, table))
        outputs.clear()  # those of a batch that was killed, too

    return StatelessProcessor(
        ground=ground,
        query=reactions_query(reactions),
        follow=follow,
        take=publish,
        rows=ROWS,
        trigger_ms=settings.policy_trigger_ms,
        data=settings.data_dir,
        headers=True,
        with_history=with_history,
        begun=partial(note_skipped, ground.kafka, settings),
        on_step=on_step,
    )


def note_skipped(kafka: KafkaConfig, settings: Settings, publisher: Publisher) -> bool:
    """Move the progress after records that operators skipped, and publish their dead letters.

    The records before them in their partitions, of which nothing followed yet, are sent again.
    """
    topics, reached = settings.topics, publisher.progress.offsets
    decisions = read_skips(kafka.settings, topics)
    sent = [*topics.inbound, topics.retry]
    begins = {name: [0] * len(reached.get(name, ())) for name in sent}
    kept = SkipLog(commands=sent, begins=begins, ends={})
    plan = plan_skips({name: reached.get(name, []) for name in sent}, kept, NO_WISH, decisions)
    if not plan.jumped:
        return False
    for one in plan.jumped:
        LOG.warning("%s are skipped, as an operator decided", one)
    letters = [*dead_letters_of(kafka, plan, topics, settings.max_command_bytes)]
    skipped = {**reached, **plan.offsets}
    publisher.publish(
        SourceBatch(query_id="skips", batch_id=0, start=reached, end=skipped), letters
    )
    return True
