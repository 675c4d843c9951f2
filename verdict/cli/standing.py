"""How far everything has come: the facts behind `verdict status`."""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Any

from verdict.cli.belonging import ahead, belonging
from verdict.cli.marker import decider_marker, lake_marker, reactions_marker
from verdict.cli.options import kafka_options
from verdict.cli.told import kafka_away, told_by
from verdict.configuration.found import find_service, silent_s
from verdict.configuration.settings import Settings
from verdict.errors import Unreachable, VerdictError
from verdict.kafka.log import KafkaLog
from verdict.projection.letter import FOLLOWER, WAITING
from verdict.projection.letter import PARKED as PARKED_LETTER
from verdict.reading.reader import Reader, Sees, reader_of

Facts = dict[str, Any]
Ends = dict[tuple[str, int], int]

POSITION, HELD, PARKED, LIVE = VIEWS = (
    "projection_position", "projection_held", "projection_parked", "projection_live",
)  # fmt: skip
LETTERS = "SELECT status, count(*) AS letters FROM letter GROUP BY status"
SCATTERED = (
    "SELECT aggregate_type, aggregate_id, partitions, count(*) OVER () AS aggregates "
    "FROM scattered_key ORDER BY 1, 2 LIMIT 1"
)


def standing(settings: Settings) -> Facts:
    """Return the state of service, decider, processors, projections, letters; null: unknown.

    `scattered` says how many aggregates have commands on several partitions; `problems` says in
    words what is wrong; `unreachable` whether that is Kafka or the database.
    """
    service = find_service(settings.data_dir)
    facts: Facts = {
        "service": None if service is None else _public(asdict(service)),
        "data_dir": str(settings.data_dir),
        "decider": None,
        "commands": None,
        "processors": None,
        "projections": None,
        "scattered": None,
        "letters": None,
        "problems": [],
        "unreachable": False,
    }
    away = [] if service is None else [*kafka_away(service)]
    facts["problems"] += away
    facts["unreachable"] = bool(away)
    for ask in (read_models,) if away else (belonging, _decider, _processors, read_models):
        try:
            facts |= ask(settings)
        except VerdictError as error:
            if str(error) not in facts["problems"]:  # several ask the same Kafka
                facts["problems"].append(str(error))
            facts["unreachable"] |= isinstance(error, Unreachable)
    if service is not None:
        facts["problems"] += told_by(service, silent_s(settings.data_dir))
    facts["problems"] += ahead(facts)
    facts["problems"] += _standing_still(facts)
    facts["problems"] += _out_of_order(facts)
    facts["problems"] += _given_up(facts)
    return facts


def complaints(facts: Facts) -> list[str]:
    """Return all that somebody should look after, for `verdict status --check`."""
    down = f"no verdict runs on {facts['data_dir']}: start `verdict up`"
    return [*([] if facts["service"] else [down]), *facts["problems"]]


def _public(service: Facts) -> Facts:
    del service["database_url"]  # it may hold a password
    return service


def _decider(settings: Settings) -> Facts:
    marker = decider_marker(settings)
    if marker is None:
        return {}
    with KafkaLog(kafka_options(settings)) as log:
        ends = _ends(log, {*settings.topics.every_commands(), *marker.offsets})
    commands = []
    for (topic, partition), end in sorted(ends.items()):
        decided = dict(enumerate(marker.offsets.get(topic, []))).get(partition, 0)
        commands.append(
            {
                "topic": topic,
                "partition": partition,
                "decided": decided,
                "end": end,
                "lag": end - decided,
            }
        )
    shown = ("owner", "generation", "batch_id", "shards", "handler_version")
    return {"decider": {name: getattr(marker, name) for name in shown}, "commands": commands}


def _processors(settings: Settings) -> Facts:
    """Return how many offsets each processor is behind; one that never ran is not there."""
    found = {"reactions": reactions_marker(settings), "lake": lake_marker(settings)}
    markers = {name: marker for name, marker in found.items() if marker is not None}
    with KafkaLog(kafka_options(settings)) as log:
        ends = _ends(log, {topic for marker in markers.values() for topic in marker.offsets})
    return {
        "processors": [
            {
                "processor": name,
                "generation": marker.generation,
                "owner": marker.owner,
                "lag": _total(
                    [
                        ends[topic, partition] - offset
                        for topic, offsets in marker.offsets.items()
                        for partition, offset in enumerate(offsets)
                        if (topic, partition) in ends
                    ]
                ),
            }
            for name, marker in markers.items()
        ]
    }


def _ends(log: KafkaLog, topics: set[str]) -> Ends:
    return {
        (topic, partition): log.bounds(topic, partition)[1]
        for topic in sorted(topics)
        if log.exists(topic)
        for partition in range(log.partitions(topic))
    }


def read_models(settings: Settings) -> Facts:
    """Return every version of every projection, the keys on several partitions, and the letters.

    Raises:
        Unreachable: The read side cannot be asked.
    """
    with reader_of(settings, Sees.OPERATOR) as reader:
        rows = {view: _rows(reader, f"SELECT * FROM {view}") for view in VIEWS}
        scattered = _rows(reader, SCATTERED)
        letters = _rows(reader, LETTERS)
    try:
        with KafkaLog(kafka_options(settings)) as log:
            ends = _ends(log, {row["topic"] for row in rows[POSITION]})
    except Unreachable:  # `_decider` has said so; the positions are known all the same
        ends = {}
    taken_in = [row for row in rows[POSITION] if row["projection"] == FOLLOWER.name]
    rows[POSITION] = [row for row in rows[POSITION] if row["projection"] != FOLLOWER.name]
    return {
        "letters": _letters(letters, [_place(row, ends)["lag"] for row in taken_in]),
        "projections": list(_projections(rows, ends)),
        "scattered": _scattered(*scattered),
    }


def _letters(counted: list[Facts], lags: list[int | None]) -> Facts:
    """Return how many letters wait and are parked, and how many offsets are not taken in yet."""
    found = {row["status"]: row["letters"] for row in counted}
    lag = _total(lags)
    return {"waiting": found.get(WAITING, 0), "parked": found.get(PARKED_LETTER, 0), "lag": lag}


def _scattered(first: Facts | None = None) -> Facts:
    """Return how many aggregates have commands on several partitions, and one of them."""
    if first is None:
        return {"aggregates": 0, "first": None}
    return {"aggregates": first.pop("aggregates"), "first": first}


def _rows(reader: Reader, statement: str) -> list[Facts]:
    answer = reader.select(statement)
    return [dict(zip(answer.columns, row, strict=True)) for row in answer.rows]


def _projections(rows: dict[str, list[Facts]], ends: Ends) -> Iterator[Facts]:
    """Yield one object per projection and version: how far, what is held, why it is stopped."""
    positions = rows[POSITION]
    live = {row["projection"]: row for row in rows[LIVE]}
    known = [*positions, *rows[LIVE]]  # one that has read nothing yet has no position
    for name, version in sorted({(row["projection"], row["version"]) for row in known}):
        ours = [row for row in positions if (row["projection"], row["version"]) == (name, version)]
        places = [_place(row, ends) for row in ours]
        lags = [place["lag"] for place in places]
        parked = [
            row["error"]
            for row in rows[PARKED]
            if (row["projection"], row["version"]) == (name, version)
        ]
        held = [
            {key: row[key] for key in row if not key.startswith("projection")}
            for row in rows[HELD]
            if (row["projection"], row["projection_version"]) == (name, version)
        ]
        yield {
            "projection": name,
            "version": version,
            "role": _role(live.get(name), version),
            "lag": _total(lags),
            "parked": parked[0] if parked else None,
            "held": held,
            "positions": places,
        }


def _role(live: Facts | None, version: int) -> str:
    """Return what a version is for; only the live one follows by itself."""
    if live is None or version == live["version"]:
        return "live"
    return "kept" if version == live["previous"] else "built"


def _place(row: Facts, ends: Ends) -> Facts:
    end = ends.get((row["topic"], row["partition"]))
    lag = None if end is None else end - row["next_offset"]
    return {name: row[name] for name in ("topic", "partition", "next_offset")} | {"lag": lag}


def _total(lags: list[int | None]) -> int | None:
    """Return the lag over partitions; a negative one is not made up for by others."""
    known = [lag for lag in lags if lag is not None]
    if len(known) < len(lags):
        return None
    return min(known) if min(known, default=0) < 0 else sum(known)


def _standing_still(facts: Facts) -> Iterator[str]:
    for projection in facts["projections"] or ():
        if projection["role"] != "live":
            continue
        name = f"projection {projection['projection']} v{projection['version']}"
        if projection["parked"]:
            yield f"{name} is stopped: {projection['parked']}"
        if projection["held"]:
            first = projection["held"][0]
            at_fault = (
                f"which cannot be applied: {first['error']}"
                if first["error"]
                else "which is missing"
            )
            yield (
                f"{name} holds {len(projection['held'])} aggregates, the first: "
                f"{first['aggregate_type']} {first['aggregate_id']!r} needs version "
                f"{first['version_needed']}, {at_fault}; see `verdict letters list`"
            )


def _out_of_order(facts: Facts) -> Iterator[str]:
    if facts["scattered"] and (first := facts["scattered"]["first"]):
        yield (
            f"{facts['scattered']['aggregates']} aggregates have commands on several partitions, "
            f"the first: {first['aggregate_type']} {first['aggregate_id']!r} on "
            f"{first['partitions']}; their order of sending is not kept: let every sender use "
            "murmur2 (librdkafka: partitioner=murmur2_random)"
        )


def _given_up(facts: Facts) -> Iterator[str]:
    letters = facts["letters"]
    if letters and letters["parked"]:
        yield (
            f"{letters['parked']} letters are parked, nobody tries them again: see why with "
            "`verdict letters list`"
        )
