"""Records of other systems that people decided to pass over: the reactions begin behind them.

As for a command that the decider jumps: the record gets its dead letter, and those before it in its
partition, of which nothing followed yet, are sent again by themselves.
"""

import logging

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.settings.settings import Settings
from verdict.streaming.event_log.skip_log import read_skips
from verdict.streaming.event_log.skips import (
    NO_WISH,
    SkipLog,
    SkippedCommand,
    dead_letters_of,
    plan_skips,
)
from verdict.streaming.exactly_once.batch import OutputRecord, SourceBatch
from verdict.streaming.exactly_once.publisher import Publisher
from verdict.wire.dead_letter_record import RETRY_POLICY, RETRY_TOPIC
from verdict.wire.headers import joined
from verdict.wire.records import encode

LOG = logging.getLogger("verdict.streaming.queries")


def note_skipped(kafka: KafkaConfig, settings: Settings, publisher: Publisher) -> bool:
    """Move the progress behind what is to be passed over, with the letters in one transaction.

    Raises:
        NotPublishedError, FencedError, UnreachableError, VerdictError: As for `publish` and the
            decisions.
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
        LOG.warning("passing over %s", one)
    records = [
        OutputRecord(topics.dead_letters, one.letter.key, encode(one.letter), joined(one.headers))
        for one in dead_letters_of(kafka, plan, settings.max_command_bytes)
        if _is_ours(one, topics.retry)
    ]
    end = {**reached, **plan.offsets}
    publisher.publish(
        SourceBatch(query_id="passing over", batch_id=0, start=reached, end=end), records
    )
    return True


def _is_ours(one: SkippedCommand, retry: str) -> bool:
    """Tell whether it is for us to send again; on `retry` lies what other services await, too."""
    again = RETRY_TOPIC in one.headers
    return not again or one.letter.source.topic != retry or RETRY_POLICY in one.headers
