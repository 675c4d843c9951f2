from collections.abc import Iterator
from hashlib import sha256

import pytest

from schemas.position import PositionClosed, PositionOpened
from tests.application import encode_event
from tests.kit.log import EventLog
from tests.read_side.responses import ACCEPTED
from verdict.model.message import Event
from verdict.model.source import Source
from verdict.operations.audit.finding import Check, Finding
from verdict.operations.audit.histories import Histories, OutcomeAudit, SeenOutcome
from verdict.streaming.event_log.record import PositionedEvent
from verdict.wire.skip_record import NOTHING_PASSED_OVER, SkippedRanges
from verdict.wire.stored_event import StoredEvent

OPENED = PositionOpened(client="ada", ticker="AAPL", exchange="NASDAQ", amount=1)
OFFSET = 10
COMMANDS = "position.commands"


def history(*payloads: Event) -> list[PositionedEvent]:
    """Return the events of a position as Kafka has them, from offset 11 on."""
    log, before, found = EventLog(), b"", list[PositionedEvent]()
    for payload in payloads:
        event = log.add_unseen("p-1", payload)._replace(previous_hash=before)
        value = encode_event(event)
        before = sha256(value).digest()
        place = Source("position.events", 0, OFFSET + event.version)
        found.append(PositionedEvent(place, "p-1", event.version, StoredEvent(event, value)))
    return found


def audited(
    *events: PositionedEvent, said: tuple[int, bytes | None] | None = None
) -> list[Finding]:
    """Return what is found."""
    histories = Histories("position", said is not None)
    found = [finding for event in events for finding in histories.take(event)]
    if said is not None:
        version, digest = said
        response = ACCEPTED.model_copy(
            update={"aggregate_id": "p-1", "to_version": version, "last_hash": digest}
        )
        histories.answer(response, Source("position.responses", 0, 1))
    return [*found, *histories.close()]


def told(findings: list[Finding]) -> list[tuple[Check, int | None, int | None]]:
    return [(one.check, one.version, one.place.offset if one.place else None) for one in findings]


def test_a_whole_history_is_as_it_must_be() -> None:
    events = history(OPENED, PositionClosed(), OPENED)

    assert audited(*events, said=(3, sha256(events[2].stored.value).digest())) == []
    assert audited(*events, said=(3, None)) == [], "an old response knows no hash"


def test_what_is_wrong_names_the_event_and_what_it_was_compared_with() -> None:
    first, second, third = history(OPENED, PositionClosed(), OPENED)
    [other] = history(OPENED.model_copy(update={"amount": 2}))

    assert told(audited(first, third)) == [(Check.VERSIONS, 3, 13)]
    assert told(audited(first, first, second)) == [(Check.VERSIONS, 1, 11)]
    assert told(audited(other, second)) == [(Check.CHAIN, 1, 11)]
    assert told(audited(second)) == [(Check.VERSIONS, 2, 12)]
    assert told(audited(first._replace(content="no event"), second)) == [(Check.CHAIN, 1, 11)]
    assert told(audited(first, said=(1, b"\1" * 32))) == [(Check.LAST_HASH, 1, 11)]
    assert told(audited(first, said=(2, None))) == [(Check.VERSIONS, 2, 1)]
    assert told(audited(first, second, said=(1, None))) == [(Check.VERSIONS, 2, 12)]
    assert audited(said=(0, None)) == [], "a rejection says that it never existed"


def outcomes(
    *seen: tuple[int, SeenOutcome],
    asked: Iterator[int] | range = range(3),
    passed: SkippedRanges = NOTHING_PASSED_OVER,
) -> list[str]:
    """Return what is said of three commands, of which Kafka has those that are asked."""
    found = OutcomeAudit("position", COMMANDS, [3], [min(asked, default=3)], passed_over=passed)
    findings = [
        finding
        for offset, what in seen
        for finding in found.take(what, Source(COMMANDS, 0, offset), "p-1", Source("r", 0, 9))
    ]
    for offset in asked:
        findings += found.ask(Source(COMMANDS, 0, offset), "p-1")
    return [f"{one.place}: {one.what}" for one in [*findings, *found.close()]]


def test_as_many_outcomes_may_be_missing_as_responses_are_passed_over() -> None:
    found = OutcomeAudit("position", COMMANDS, [3], [0], unread=2)

    findings = [[*found.ask(Source(COMMANDS, 0, offset), "p-1")] for offset in range(3)]

    assert [len(each) for each in findings] == [0, 0, 1]
    assert found.unanswered == {"p-1": 2}


WHOLE = (
    (0, SeenOutcome.RESPONSE | SeenOutcome.REFUSED),
    (0, SeenOutcome.REJECTION),
    (1, SeenOutcome.RESPONSE),
    (1, SeenOutcome.EVENT),
    (2, SeenOutcome.LETTER),
)


def test_a_response_or_a_letter_is_an_outcome() -> None:
    assert outcomes(*WHOLE) == []
    assert outcomes(*WHOLE, asked=range(2, 3)) == [], "Kafka has dropped the others"


THERE_IS_NONE = "position.commands:0:2: something names a command at this place, and there is none"


@pytest.mark.parametrize(
    ("seen", "asked", "said"),
    [
        (WHOLE[:4], range(3), "position.commands:0:2: the command is decided and has no outcome"),
        ((*WHOLE, (1, SeenOutcome.RESPONSE)), range(3), "r:0:9: the command has two outcomes"),
        (
            (WHOLE[0], *WHOLE[2:]),
            range(3),
            "position.commands:0:0: the command is refused, and its reject",
        ),
        (WHOLE[1:], range(3), "position.commands:0:0: there is a rejection, and no outcome says"),
        (WHOLE, range(2), THERE_IS_NONE),
        (
            (*WHOLE[:2], *WHOLE[3:]),
            range(2, 3),  # Kafka has dropped the others
            "position.commands:0:1: events came of the command, and it has no outcome",
        ),
    ],
)
def test_what_is_missing_or_too_much_is_named(
    seen: tuple[tuple[int, SeenOutcome], ...], asked: range, said: str
) -> None:
    assert any(one.startswith(said) for one in outcomes(*seen, asked=asked))


@pytest.mark.proves("C-17")
def test_the_letter_of_a_skipped_command_is_an_outcome_though_it_is_not_read() -> None:
    jumped = SkippedRanges.of([(COMMANDS, 0, 2, 3)])

    assert outcomes(*WHOLE, asked=range(2), passed=jumped) == []
    assert len(outcomes(*WHOLE, (2, SeenOutcome.RESPONSE), asked=range(2), passed=jumped)) == 1
