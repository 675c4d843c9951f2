"""Where a query without state goes on whose inputs are others than they were."""

from dataclasses import replace

import pytest

from tests.exactly_once.deployment import Deployment
from verdict.adapters.kafka.offsets import ends
from verdict.adapters.kafka.reader import KafkaLog
from verdict.streaming.exactly_once.query import Query
from verdict.streaming.exactly_once.restart import restart_from_progress
from verdict.wire.progress_record import ProgressRecord


def begun(deployment: Deployment, query: Query, *with_history: str) -> ProgressRecord:
    """Return the progress record with which a start goes on."""
    publisher = restart_from_progress(query, deployment.kafka, with_history=with_history)
    publisher.close()
    return publisher.progress


def reading(deployment: Deployment, *inputs: str) -> Query:
    """Return a query that reads these topics."""
    return replace(deployment.another("reactions"), inputs=inputs, outputs=())


def decides(deployment: Deployment) -> None:
    """Let there be events."""
    owner = deployment.claim()
    owner.publish(deployment.batch(0), deployment.outputs(0))


@pytest.mark.proves("P-07")
def test_an_input_that_is_added_begins_at_its_end_where_it_has_a_history(
    deployment: Deployment, caplog: pytest.LogCaptureFixture
) -> None:
    """Else a policy that is added asks for something because of all that ever happened."""
    commands, events = deployment.commands, deployment.events
    assert not any(begun(deployment, reading(deployment, commands)).offsets[commands])
    decides(deployment)
    both = reading(deployment, commands, events)

    added = begun(deployment, both, commands, events)

    assert not any(added.offsets[commands]), "that one was known"
    assert added.offsets[events] == at_the_end(deployment, events)
    assert sum(added.offsets[events]) > 0
    assert "nothing from what is there already" in caplog.text
    assert begun(deployment, both).offsets == added.offsets, "it is written down"


def test_without_a_history_it_begins_with_its_first_record(deployment: Deployment) -> None:
    commands, events = deployment.commands, deployment.events
    begun(deployment, reading(deployment, commands))
    decides(deployment)

    assert not any(begun(deployment, reading(deployment, commands, events)).offsets[events])


@pytest.mark.proves("P-07")
def test_an_input_that_comes_back_goes_on_where_it_ended(
    deployment: Deployment, caplog: pytest.LogCaptureFixture
) -> None:
    """What one start with another application leaves out is neither lost nor read again."""
    commands, events = deployment.commands, deployment.events
    both, one = reading(deployment, commands, events), reading(deployment, commands)
    ended = begun(deployment, both).offsets

    assert begun(deployment, one).offsets.keys() == {commands}
    assert f"nothing follows from {events} any more" in caplog.text
    decides(deployment)
    assert begun(deployment, one).left == {events: ended[events]}, "by later starts, too"
    again = begun(deployment, both, commands, events)

    assert (again.offsets, again.left) == (ended, {})
    assert f"something follows again from {events}:0, from where that was left" in caplog.text
    assert "left: 0 offsets" not in caplog.text
    begun(deployment, one)
    end = at_the_end(deployment, events)
    for number, offset in enumerate(end):
        deployment.delete(events, number, offset)
    assert begun(deployment, both, events).offsets[events] == end
    assert f"{end[1]} offsets before the end, {end[1]} of which Kafka has dropped" in caplog.text


def at_the_end(deployment: Deployment, topic: str) -> list[int]:
    with KafkaLog(deployment.kafka.settings, 30) as log:
        return ends(log.bounds(log.places([topic])))[topic]
