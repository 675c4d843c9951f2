"""One `verdict up` on a real broker: what senders and readers see of it."""

import asyncio
import json
from concurrent.futures import ThreadPoolExecutor
from random import Random

import pytest
from confluent_kafka import KafkaError, Message, Producer

from commands.order import DeleteOrder, FillOrder, ModifyOrder
from commands.position import ClosePosition, OpenPosition
from projections.us_exchanges import US_EXCHANGES
from tests.application import APPLICATION
from tests.comparison import assert_contained
from tests.hostile import HEADERS, KINDS, Sent
from tests.kit.service import PLACE, WAIT_S, Deployment
from tests.model import fold
from verdict.client.async_client import AsyncClient
from verdict.model.reason import Reason
from verdict.model.source import Source
from verdict.wire.response import Response

pytestmark = [
    pytest.mark.kafka,
    pytest.mark.spark,
    pytest.mark.timeout(900),
    pytest.mark.process,
    pytest.mark.usefixtures("service"),
]

RACES = 40


def both(deployment: Deployment, first: list, second: list) -> list[tuple[Response, Response]]:  # type: ignore[type-arg]
    """Send two lists of (id, command, expected version) by two producers at once."""

    def send(commands: list) -> list[Response]:  # type: ignore[type-arg]
        with deployment.client() as sender:
            pending = [sender.send(at, what, expected_version=v) for at, what, v in commands]
            return [one.wait(timeout_s=WAIT_S) for one in pending]

    with ThreadPoolExecutor(2) as producers:
        left, right = producers.map(send, (first, second))
    return list(zip(left, right, strict=True))


def assert_one_winner(pair: tuple[Response, Response]) -> None:
    loser = next(one for one in pair if one.status == "REJECTED")
    winner = next(one for one in pair if one.status == "ACCEPTED")
    assert winner.to_version == winner.from_version + 1  # type: ignore[operator]
    assert (loser.reason, loser.expected_version) == ("VERSION_CONFLICT", winner.from_version)
    assert loser.actual_version == winner.to_version
    assert loser.actual_state in ("ACTIVE", "DELETED")


@pytest.mark.proves("C-02")
def test_of_delete_and_modify_on_one_version_exactly_one_passes(deployment: Deployment) -> None:
    """C-02, by two producers under load."""
    ids = [f"race-{n}" for n in range(RACES)]
    deployment.place_all(ids)

    pairs = both(
        deployment,
        [(at, DeleteOrder(), 1) for at in ids],
        [(at, ModifyOrder(quantity=5), 1) for at in ids],
    )

    for pair in pairs:
        assert_one_winner(pair)


@pytest.mark.proves("C-03")
def test_of_two_producers_with_one_expected_version_exactly_one_wins(
    deployment: Deployment,
) -> None:
    """C-03."""
    ids = [f"duel-{n}" for n in range(RACES)]

    pairs = both(deployment, [(at, PLACE, 0) for at in ids], [(at, PLACE, 0) for at in ids])

    for pair in pairs:
        assert_one_winner(pair)


@pytest.mark.proves("C-03", "C-12")
def test_of_many_tasks_that_race_for_one_version_the_first_wins(deployment: Deployment) -> None:
    async def race() -> list[Response]:
        async with AsyncClient(APPLICATION, deployment.servers, deployment.topics) as sender:
            sends = (sender.send("crowd", PLACE, 0, timeout_s=WAIT_S) for _ in range(RACES))
            return await asyncio.gather(*sends)

    first, *others = asyncio.run(race())

    assert first.raise_for_rejection().to_version == 1
    assert {one.reason for one in others} == {Reason.VERSION_CONFLICT}


@pytest.mark.proves("C-08")
def test_a_command_may_cause_two_events(deployment: Deployment) -> None:
    """C-08."""
    deployment.place_all(["filled"])

    with deployment.client() as sender:
        fill = FillOrder(quantity=10, price_cents=149_00)
        outcome = sender.send("filled", fill, expected_version=1).wait(timeout_s=WAIT_S)

    assert (outcome.from_version, outcome.to_version, len(outcome.event_ids)) == (1, 3, 2)


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
    by_hand = Producer({"bootstrap.servers": deployment.servers})
    for at, owner, ticker, amount, exchange in golden[:3]:
        payload = {"type": "OpenPosition", "client": owner, "ticker": ticker, "amount": amount}
        envelope = {
            "command_id": f"golden-{at}",
            "aggregate_id": at,
            "expected_version": "NO_STREAM",
            "payload": payload | {"exchange": exchange},
        }
        by_hand.produce(deployment.topics.commands("position"), key=at, value=json.dumps(envelope))
    assert by_hand.flush(30) == 0
    with deployment.client() as sender:
        for at, owner, ticker, amount, exchange in golden[3:]:
            opened = OpenPosition(client=owner, ticker=ticker, exchange=exchange, amount=amount)
            sender.send(at, opened, expected_version=0).wait(timeout_s=WAIT_S)
    deployment.await_read_side()
    select = "select client, positions from us_holder where client like 'golden%' order by 1"

    assert deployment.sql(select) == [["golden1", 2], ["golden2", 1]]

    with deployment.client() as sender:
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


@pytest.mark.proves("C-11")
def test_what_the_broker_refuses_is_reported_to_its_sender_and_nothing_arrives(
    deployment: Deployment,
) -> None:
    """C-11: 10 MB."""
    before, codes = len(deployment.commands()), []
    sender = Producer({"bootstrap.servers": deployment.servers, "message.max.bytes": 20_000_000})

    def refused(error: KafkaError | None, _: Message) -> None:
        codes.append(error and error.code())

    topic = deployment.topics.commands("order")
    sender.produce(topic, key="k", value=b"x" * 10_000_000, on_delivery=refused)
    assert sender.flush(30) == 0

    assert codes == [KafkaError.MSG_SIZE_TOO_LARGE]
    deployment.place_all(["after the refusal"])
    assert len(deployment.commands()) == before + 1


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


@pytest.mark.long
@pytest.mark.proves("U-02")
def test_topics_that_are_not_what_they_must_be_are_named(deployment: Deployment) -> None:
    """U-02."""
    good = deployment.cli("topics", "check")
    odd = deployment.cli("topics", "check", VERDICT_PARTITIONS="6")

    assert good.returncode == 0
    assert odd.returncode == 1
    assert f"{deployment.topics.commands('order')}: partitions is 4" in odd.stderr
