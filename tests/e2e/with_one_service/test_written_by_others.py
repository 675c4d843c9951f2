"""What others wrote to the topics, and a command that must not be read, are passed over on record.

The last in this folder: what others wrote is nothing that the model knows.
"""

import json

import pytest
from confluent_kafka import Message

from tests.e2e.test_recover import place, recovered, refused
from tests.kit.service import Deployment, Kept

pytestmark = pytest.mark.timeout(900)


@pytest.mark.proves("C-17")
@pytest.mark.long
def test_what_is_beyond_repair_is_passed_over_by_a_person_on_record(
    deployment: Deployment, kept_service: Kept
) -> None:
    """C-16, C-17, G-03: a stranger's records, and a command that must not be read."""
    kept_service.running()
    placed = place(deployment)
    kept_service.end()
    topics, number = deployment.topics, deployment.generation().number
    strange, tombstone, rejected = (
        write(deployment, topic, b"order-1", None if "responses" in topic else b"garbage")
        for topic in (topics.events("order"), topics.responses("order"), topics.rejected("order"))
    )
    write(deployment, topics.dead_letters, b"theirs", b"a letter of another service")
    _, bomb = (
        write(deployment, topics.commands("position"), name.encode(), opening(name))
        for name in ("p-before", "p-bomb")
    )

    assert deployment.cli("skip", bomb).returncode == 2, "without a reason"

    places = strange, rejected, tombstone, bomb  # by the names of their topics
    word = ("--operator", "ada", "--reason", "the job of the 3rd")
    assert recovered(deployment, *places, *word, verb="skip")["generation"] == number + 1
    kept_service.running()
    again = place(deployment)
    assert (again.duplicate, again.event_ids) == (True, placed.event_ids)
    assert_on_record(deployment, places)


@pytest.mark.proves("C-17")
@pytest.mark.thorough
def test_after_a_skip_of_dropped_commands_the_next_ones_are_decided(
    deployment: Deployment, kept_service: Kept
) -> None:
    kept_service.running()
    kept_service.end()
    topic = deployment.topics.commands("position")
    first, last, behind = (
        int(write(deployment, topic, name.encode(), opening(name)).rpartition(":")[2])
        for name in ("p-first", "p-last", "p-behind")
    )
    deployment.forget(topic, {2: behind})

    dropped = f"{topic}:2 from offset {first} to {last}"
    assert f"it reads {topic}:2 from offset {first} on, and Kafka has" in refused(deployment)
    alone = deployment.cli("recover")
    assert alone.returncode == 1
    skip = f"{topic}:2:{first}-{behind}"
    assert f"`verdict skip {skip} --reason …`" in alone.stderr

    recovered(deployment, skip, "--operator", "ada", "--reason", "retention", verb="skip")
    kept_service.running()
    decided = "select \"offset\", until_offset from skipped_record where reason = 'retention'"
    assert deployment.sql(decided) == [[first, behind]]
    opened = (
        "select aggregate_id from us_holder_version where aggregate_id in ('p-last', 'p-behind')"
    )
    deployment.reaches(opened, ["p-behind"])
    letters = deployment.cli("dead-letters", "list", "--json").stdout
    assert f"{dropped} dropped by Kafka before they were decided; ada: retention" in letters
    assert f"{topic}:2:{last}" not in deployment.cli("verify").stdout


def assert_on_record(deployment: Deployment, places: tuple[str, ...]) -> None:
    """What was passed over is told to those who ask, is no finding, and holds nothing up."""
    decided = "select topic || ':' || partition || ':' || offset from skipped_record order by topic"
    deployment.reaches(decided, [*places])
    deployment.reaches(
        "select aggregate_id from us_holder_version where aggregate_id like 'p-b%'", ["p-before"]
    )
    parked = deployment.cli("dead-letters", "list", "--json").stdout
    assert "skipped by ada: the job of the 3rd" in parked
    findings = deployment.cli("verify").stdout
    assert [place for place in places if place in findings] == []


def write(deployment: Deployment, topic: str, key: bytes, value: bytes | None) -> str:
    """Write a record behind everybody's back; return its place."""
    written: list[Message] = []
    deployment.produce(
        [(topic, key, value, 2)], on_delivery=lambda _, message: written.append(message)
    )
    return f"{topic}:2:{written[0].offset()}"


def opening(name: str) -> bytes:
    payload = {
        "type": "OpenPosition",
        "client": name,
        "ticker": "T",
        "exchange": "NYSE",
        "amount": 1,
    }
    envelope = {"command_id": name, "aggregate_id": name, "expected_version": "ANY"}
    return json.dumps(envelope | {"payload": payload}).encode()
