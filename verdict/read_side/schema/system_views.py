"""What the engine itself shows to readers: how far read models are, what waits, who decided."""

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Select, Table, select, union_all

from verdict.read_side.projections.described import View, described
from verdict.read_side.tables import (
    blocked,
    dead_letters,
    followed_by,
    interventions,
    position,
    quarantined,
    skips,
    source_topics,
    verification,
    versions,
)

OF_WHOM = "Name of the projection."
VERSION = "Version of the projection's tables."
TYPE, ID = "Type of the aggregate.", "Id of the aggregate."
TOPIC, PARTITION, OFFSET = "Topic in Kafka.", "Partition of the topic.", "Offset of the record."

SHOWN = versions.views(versions.table)

RENAMED = {"who": "operator", "why": "reason", "until": "until_offset"}


def _for_readers(table: Table) -> Select[Any]:
    """Return all columns of a table, under the names that readers know."""
    return select(*(one.label(RENAMED.get(one.name, one.name)) for one in table.columns))


OWN_VIEWS: Mapping[str, View] = {
    **verification.VIEWS,
    "projection_position": described(
        select(position.table),
        "How far each version of a projection has come in each partition that it follows.",
        projection=OF_WHOM,
        version=VERSION,
        topic=TOPIC,
        partition=PARTITION,
        next_offset="The first offset that it has not applied.",
    ),
    "projection_topic": described(
        select(followed_by.table),
        "The topics that each projection follows.",
        projection=OF_WHOM,
        topic=TOPIC,
    ),
    "source_topic": described(
        select(source_topics.table),
        "The topics, by Kafka's own ids, from which the read side was filled.",
        topic="Name of the topic.",
        topic_id="Kafka's id of it, which a topic made anew under the name does not have.",
        cluster_id="Kafka's id of its cluster.",
    ),
    "projection_blocked": described(
        union_all(select(blocked.table), quarantined.held()),
        "Aggregates that wait in a projection: an event is missing or cannot be applied, or the "
        "aggregate is quarantined.",
        projection=OF_WHOM,
        projection_version=VERSION,
        aggregate_type=TYPE,
        aggregate_id=ID,
        version_needed="The version of the event that it waits for.",
        version_seen="The greatest version that has come.",
        found_at="Since when it waits.",
        error="Why the event cannot be applied, or what is damaged; none if it is missing.",
    ),
    "projection_version": described(
        SHOWN["projection_version"],
        "What state each version of a projection is in.",
        projection=OF_WHOM,
        version=VERSION,
        role="What it is there for: `live` (readers see it), `kept`, `built` or `building`.",
        settings="The settings that its tables were filled with, as JSON; empty when it has none.",
        error="Why it is stopped, if it is.",
        stopped_at="Since when it is stopped.",
    ),
    "projection_stopped": described(
        SHOWN["projection_stopped"],
        "Projections that are stopped, and why.",
        projection=OF_WHOM,
        version=VERSION,
        error="What happened, and what can be done about it.",
        topic="Topic of the record at which it stopped, if it was at one.",
        partition="Partition of that record.",
        offset="Offset of that record.",
        stopped_at="Since when it is stopped.",
    ),
    "projection_live": described(
        SHOWN["projection_live"],
        "The version of each projection that readers see.",
        projection=OF_WHOM,
        version="The version that they see.",
        previous="The version that they saw before, which is kept to go back to.",
    ),
    "projection_version": described(
        SHOWN["projection_version"],
        "With which settings the tables of each version were filled.",
        projection=OF_WHOM,
        version=VERSION,
        settings="As JSON; empty when it has none.",
    ),
    "dead_letter": described(
        _for_readers(dead_letters.table),
        "Dead letters: what could not be handled, and waits for a next try or for a person.",
        id="Id of the letter.",
        topic="Topic that the record was on.",
        partition="Partition that it was on.",
        offset="Offset that it had.",
        attempt="How often it was tried.",
        attempts="How often it is tried before it is parked.",
        retry_topic="Topic that it goes to for its next try.",
        due_at="When it is tried again; none when it is parked.",
        status="WAITING for its next try, or PARKED for a person.",
        error="Why it could not be handled.",
        key="Key of the record.",
        bytes="Value of the record.",
        headers="Headers of the record, as JSON.",
        received_at="When Kafka got the letter.",
        operator="Who did something about it last.",
        reason="The reason that they gave.",
    ),
    "dead_letter_intervention": described(
        _for_readers(dead_letters.intervention),
        "What people did about letters; nothing removes it.",
        dead_letter_id="Id of the letter.",
        number="Counts what was done to the letter.",
        kind="What was done.",
        operator="Who did it.",
        reason="The reason that they gave.",
        at="When it was done.",
        sha256="SHA-256 of the bytes that it was done to.",
    ),
    "projection_intervention": described(
        _for_readers(interventions.table),
        "What people decided about events that a projection could not apply; nothing removes it.",
        seq="Counts what was decided, without gaps.",
        projection=OF_WHOM,
        version=VERSION,
        aggregate_type=TYPE,
        aggregate_id=ID,
        event_version="Version of the event.",
        kind="What was decided.",
        operator="Who decided it.",
        reason="The reason that they gave.",
        at="When it was decided.",
        before="The payload before, as JSON.",
        after="The payload that is used in its place, as JSON; none passes the event over.",
    ),
    "skipped_record": described(
        _for_readers(skips.table),
        "What operators decided about records and topics.",
        topic=TOPIC,
        partition=PARTITION,
        offset="Offset of the first record that it is about.",
        until_offset="Offset after the last one.",
        kind="`SKIPPED`: the records are passed over; `RESTORED`, `ACCEPTED`: a topic was changed.",
        operator="Who decided it.",
        reason="The reason that they gave.",
        decided_at="When it was decided.",
    ),
    "aggregate_quarantined": described(
        quarantined.shown(),
        "Aggregates whose history is damaged now; their commands are rejected.",
        aggregate_type=TYPE,
        aggregate_id=ID,
        version="The first version that is damaged.",
        error="What is damaged.",
        topic="Topic of the record at which that shows.",
        partition="Partition of the topic.",
        offset="Offset of the record.",
        operator="Who decided to go on without the aggregate.",
        reason="The reason that they gave.",
        decided_at="When it was decided.",
    ),
}
