"""One `verdict up` on a real broker: what senders and readers see of it."""

import json
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest
from confluent_kafka import KafkaError, Message, Producer

from commands.order import DeleteOrder, ModifyOrder
from commands.position import ClosePosition, OpenPosition
from projections.us_exchanges import US_EXCHANGES
from tests.comparison import assert_contained
from tests.hostile import HEADERS, KINDS, Sent
from tests.kit.service import PLACE, WAIT_S, Deployment
from tests.model import fold
from verdict.model.command import Command
from verdict.model.source import Source
from verdict.wire.response import Response

pytestmark = [pytest.mark.timeout(900), pytest.mark.usefixtures("service")]

RACES = 40


@pytest.mark.proves("C-02", "C-03")
@pytest.mark.parametrize(
    ("name", "version", "commands"),
    [("race", 1, (DeleteOrder(), ModifyOrder(quantity=5))), ("duel", 0, (PLACE, PLACE))],
)
def test_of_two_producers_with_one_expected_version_exactly_one_wins(
    deployment: Deployment, name: str, version: int, commands: tuple[Command, Command]
) -> None:
    """C-02 and C-03, by two producers under load."""
    ids = [f"{name}-{n}" for n in range(RACES)]
    if version:
        deployment.place_all(ids)

    def send(command: Command) -> list[Response]:
        with deployment.client() as sender:
            pending = [sender.send(at, command, expected_version=version) for at in ids]
            return [one.wait(timeout_s=WAIT_S) for one in pending]

    with ThreadPoolExecutor(2) as producers:
        pairs = [*zip(*producers.map(send, commands), strict=True)]

    for pair in pairs:
        winner, loser = sorted(pair, key=lambda one: one.status)
        assert (winner.status, winner.to_version) == ("ACCEPTED", version + 1)
        assert (loser.reason, loser.expected_version) == ("VERSION_CONFLICT", version)
        assert loser.actual_version == winner.to_version
        assert loser.actual_state in ("ACTIVE", "DELETED")


@pytest.mark.proves("H-01", "H-03")
def test_the_golden_positions_give_the_golden_holders(deployment: Deployment) -> None:
    """H-01 and H-03: some by hand as JSON, some through the client."""
    golden = [
        ("1", "golden1", "AAPL", 100, "NASDAQ"),
        ("2", "golden1", "VOD", 5, "LON"),
        ("3", "golden1", "FB", 33, "NASDAQ"),
        ("4", "golden2", "AAPL", 25, "NASDAQ"),
        ("5", "golden3", "VOD", 33, "LON"),
    ]
    opened = [
        (at, OpenPosition(client=owner, ticker=ticker, exchange=exchange, amount=amount))
        for at, owner, ticker, amount, exchange in golden
    ]
    envelopes = [
        (
            at,
            {"command_id": f"golden-{at}", "aggregate_id": at, "expected_version": "NO_STREAM"}
            | {"payload": {"type": "OpenPosition"} | command.model_dump()},
        )
        for at, command in opened[:3]
    ]
    topic = deployment.topics.commands("position")
    deployment.produce(
        (topic, at.encode(), json.dumps(envelope).encode(), -1) for at, envelope in envelopes
    )
    select = "select client, positions from us_holder where client like 'golden%' order by 1"
    with deployment.client() as sender:
        for at, command in opened[3:]:
            sender.send(at, command, expected_version=0).wait(timeout_s=WAIT_S)
        deployment.await_read_side()
        assert deployment.sql(select) == [["golden1", 2], ["golden2", 1]]
        for at in ("1", "4"):
            sender.send(at, ClosePosition(), expected_version=1).wait(timeout_s=WAIT_S)
    deployment.await_read_side()
    assert deployment.sql(select) == [["golden1", 1]]


@pytest.mark.proves("C-11")
def test_every_kind_of_hostile_record_is_kept_with_its_bytes_and_place(
    deployment: Deployment,
) -> None:
    """C-11: one dead letter or one rejection each, and a sound command behind each is answered."""
    topic, random = deployment.topics.commands("order"), Random(11)
    # packed, so that what a broker never lets in as it is arrives in a few kilobytes
    sizes = {"compression.type": "gzip", "message.max.bytes": 20_000_000}
    sender = Producer({"bootstrap.servers": deployment.servers, **sizes})
    sent: dict[Source, Sent] = {}

    def landed(error: KafkaError | None, message: Message) -> None:
        assert error is None, error
        place = Source(topic, message.partition() or 0, message.offset() or 0)
        sent[place] = message.key(), message.value()

    with deployment.client() as sound:
        behind = []
        for number, spoil in enumerate(KINDS.values()):
            key, value = spoil(random)
            sender.produce(topic, key=key, value=value, headers=[*HEADERS], on_delivery=landed)
            assert sender.flush(30) == 0
            behind.append(sound.send(f"behind-{number}", PLACE, expected_version=0))
        assert {one.wait(timeout_s=WAIT_S).status for one in behind} == {"ACCEPTED"}

    deployment.await_quiet()
    assert len(sent) == len(KINDS)
    assert_contained(sent, deployment.published(), deployment.topics)


@pytest.mark.proves("C-01", "C-16", "H-07")
@pytest.mark.long
def test_random_traffic_is_what_the_model_says_and_so_is_the_read_side(
    deployment: Deployment,
) -> None:
    """C-01, C-04, C-16, H-07: topics against the model, views against topics and model."""
    with deployment.traffic(seed=7, pause_s=0.002):
        deployment.place_all([f"meanwhile-{n}" for n in range(20)])
    deployment.await_quiet()
    deployment.await_read_side()

    deployment.assert_as_the_model_says()
    expected = fold(deployment.commands(), topic_prefix=deployment.topics.prefix)
    answered = [one for one in expected.outcomes.values() if one.response is not None]
    assert deployment.sql("select count(*) from outcome") == [[len(answered)]]
    assert deployment.sql(
        "select reason, count(*) from outcome where status = 'REJECTED' and not duplicate "
        "group by 1 order by 1"
    ) == sorted(
        [reason, count]
        for reason, count in expected.counts().items()
        if reason not in ("ACCEPTED", "duplicate", "dead letter")
    )
    holders = {
        state["client"]
        for (kind, _), aggregate in expected.aggregates.items()
        if kind == "position" and (state := aggregate.state) is not None
        if state["exchange"] in US_EXCHANGES
    }
    assert {row[0] for row in deployment.sql("select client from us_holder")} == holders
