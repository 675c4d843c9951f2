"""What the engine itself shows to readers: how far read models are, what waits, who decided."""

from collections.abc import Mapping

from sqlalchemy import select

from verdict.projection import (
    decision,
    followed,
    holding,
    intervention,
    letter,
    position,
    versions,
)
from verdict.projection.described import View, described

OF_WHOM = "Name of the projection."
VERSION = "Version of the projection's tables."
TYPE, ID = "Type of the aggregate.", "Id of the aggregate."
TOPIC, PARTITION, OFFSET = "Topic in Kafka.", "Partition of the topic.", "Offset of the record."

SHOWN = versions.views(versions.table)

OWN_VIEWS: Mapping[str, View] = {
    "projection_position": described(
        select(position.table),
        "How far each version of a projection has come in each partition that it follows.",
        projection=OF_WHOM,
        version=VERSION,
        topic=TOPIC,
        partition=PARTITION,
        next_offset="The first offset that it has not applied.",
    ),
    "followed_topic": described(
        select(followed.table),
        "The topics, by Kafka's own ids, from which the read side was filled.",
        topic="Name of the topic.",
        topic_id="Kafka's id of it, which a topic made anew under the name does not have.",
        cluster_id="Kafka's id of its cluster.",
    ),
    "projection_held": described(
        select(holding.table),
        "Aggregates that wait in a projection: an event is missing, or one cannot be applied.",
        projection=OF_WHOM,
        projection_version=VERSION,
        aggregate_type=TYPE,
        aggregate_id=ID,
        version_needed="The version of the event that it waits for.",
        version_seen="The greatest version that has come.",
        found_at="Since when it waits.",
        error="Why the event cannot be applied; none when it is missing.",
    ),
    "projection_version": described(
        SHOWN["projection_version"],
        "What state each version of a projection is in.",
        projection=OF_WHOM,
        version=VERSION,
        role="What it is there for: `live` (readers see it), `kept`, `built` or `building`.",
        settings="What its tables were filled with, in words; empty when they depend on nothing.",
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
    "projection_built": described(
        SHOWN["projection_built"],
        "With which settings the tables of each version were filled.",
        projection=OF_WHOM,
        version=VERSION,
        settings="In words; empty when they depend on none.",
    ),
    "letter": described(
        select(letter.table),
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
        who="Who did something about it last.",
        why="The reason that they gave.",
    ),
    "letter_intervention": described(
        select(letter.intervention),
        "What people did about letters; nothing removes it.",
        letter_id="Id of the letter.",
        number="Counts what was done to the letter.",
        kind="What was done.",
        who="Who did it.",
        why="The reason that they gave.",
        at="When it was done.",
        sha256="SHA-256 of the bytes that it was done to.",
    ),
    "projection_intervention": described(
        select(intervention.table),
        "What people decided about events that a projection could not apply; nothing removes it.",
        seq="Counts what was decided, without gaps.",
        projection=OF_WHOM,
        version=VERSION,
        aggregate_type=TYPE,
        aggregate_id=ID,
        event_version="Version of the event.",
        kind="What was decided.",
        who="Who decided it.",
        why="The reason that they gave.",
        at="When it was decided.",
        before="The payload before, as JSON.",
        after="The payload that is used in its place, as JSON; none passes the event over.",
    ),
    "decision": described(
        select(decision.table),
        "Records that are passed over, as people decided.",
        topic=TOPIC,
        partition=PARTITION,
        offset="Offset of the first record that is passed over.",
        until="Offset of the first one behind it that is not.",
        who="Who decided it.",
        why="The reason that they gave.",
        decided_at="When it was decided.",
    ),
}
