"""C-17: Kafka forgets the end of its events, and no accepted event is lost."""

import json
import shutil
from pathlib import Path
from typing import NamedTuple

import pytest
from confluent_kafka import Producer

from commands.order import ModifyOrder, PlaceOrder
from tests.application import APPLICATION, decode_event
from tests.e2e.tills import assert_lake, assert_told
from tests.reactions.tills import recorded, sales
from verdict.adapters.kafka.reader import KafkaLog
from verdict.client.client import Client
from verdict.errors import VerdictError
from verdict.operations.status.collect import wait_until_idle
from verdict.testing import Service
from verdict.wire.response import Response

pytestmark = [pytest.mark.long, pytest.mark.timeout(1500)]
ORDERS = 6
DAY = [*sales(16, seed=7)]
LOST = ("order.events", "invoice.events")
ARCHIVE = (
    'SELECT aggregate_type, aggregate_id, version, hash, topic, "partition", "offset" '
    "FROM event_archive ORDER BY 1, 2, 3"
)
RECENT = "SELECT * FROM client_recent_order ORDER BY 1, 2"
Row = dict[str, object]


def small(data: Path) -> Service:
    return Service(APPLICATION, data, partitions=2, shards=1, cores=2)


def place(client: Client, number: int) -> Response:
    order = PlaceOrder(
        client="ada", ticker="AAPL", side="BUY", quantity=10, limit_price_cents=100 + number
    )
    sent = client.send(f"o-{number}", order, expected_version=0, command_id=f"place-{number}")
    return sent.wait(timeout_s=120)


def sell(service: Service, day: list[tuple[str, bytes]]) -> None:
    producer = Producer({"bootstrap.servers": service.bootstrap_servers})
    for key, value in day:
        producer.produce("POS", value, key)
    assert producer.flush(60) == 0


def settle(service: Service) -> None:
    for _ in wait_until_idle(service.settings):
        pass


def rows(service: Service, query: str) -> list[Row]:
    found = service.verb("sql", query, "--json").stdout
    return [json.loads(line) for line in found.splitlines()]


def in_kafka(service: Service, topic: str) -> list[tuple[str, int, int]]:
    """Return aggregate id, version and offset of all events on a topic."""
    kind = topic.removesuffix(".events")
    with KafkaLog({"bootstrap.servers": service.bootstrap_servers}) as log:
        records = [*log.read(log.bounds(log.places([topic])))]
    events = [(decode_event(kind, bytes(one.value() or b"")), one.offset()) for one in records]
    return sorted((event.aggregate_id, event.version, offset or 0) for event, offset in events)


def values(service: Service, topic: str) -> list[bytes]:
    with KafkaLog({"bootstrap.servers": service.bootstrap_servers}) as log:
        return [one.value() or b"" for one in log.read(log.bounds(log.places([topic])))]


def partitions(data: Path) -> list[Path]:
    return sorted(one for topic in LOST for one in (data / "broker").rglob(f"{topic}-*"))


class Before(NamedTuple):
    """What was known before the power failed."""

    last: Response
    archived: list[Row]
    shown: list[Row]


def lived(data: Path, older: Path) -> Before:
    """Let a service decide, keep the folders of its events, and let it decide more."""
    with small(data) as service, Client(APPLICATION, service.bootstrap_servers) as client:
        for number in range(ORDERS):
            place(client, number)
        sell(service, DAY[:8])
        settle(service)
    for one in partitions(data):
        shutil.copytree(one, older / one.name)
    with small(data) as service, Client(APPLICATION, service.bootstrap_servers) as client:
        last = place(client, ORDERS)
        for number in range(0, ORDERS, 2):
            more = client.send(f"o-{number}", ModifyOrder(quantity=20), expected_version=1)
            assert more.wait(timeout_s=120).reason is None
        sell(service, DAY[8:])
        settle(service)
        return Before(last, rows(service, ARCHIVE), rows(service, RECENT))


@pytest.mark.proves("C-17")
def test_no_accepted_event_is_lost_in_a_power_failure_of_the_embedded_kafka(
    tmp_path: Path,
) -> None:
    data, older = tmp_path / "data", tmp_path / "older"
    before = lived(data, older)
    for one in partitions(data):
        shutil.rmtree(one)
        shutil.copytree(older / one.name, one)
    with pytest.raises(VerdictError, match=r"verdict recover --restore-events --reason"):
        small(data).__enter__()

    small(data).verb("recover", "--restore-events", "--reason", "the power failed")

    with small(data) as service, Client(APPLICATION, service.bootstrap_servers) as client:
        again = place(client, ORDERS)
        assert (again.duplicate, again.event_ids) == (True, before.last.event_ids)
        modified = client.send("o-1", ModifyOrder(quantity=30), expected_version=1)
        assert modified.wait(timeout_s=120).to_version == 2
        settle(service)
        archived = rows(service, ARCHIVE)
        known = [without_place(one) for one in archived if not is_new(one)]
        assert known == [without_place(one) for one in before.archived]
        for topic in LOST:
            assert in_kafka(service, topic) == places(archived, topic)
        assert rows(service, RECENT) == with_quantity(before.shown, "o-1", 30)
        # nothing followed a second time from an event that was restored
        invoices = recorded(value for _, value in DAY)
        assert_told(values(service, "loyalty"), values(service, "shipment"), invoices)
        assert_lake(data / "lake", invoices)
        service.verb("verify")


def is_new(row: Row) -> bool:
    return (row["aggregate_id"], row["version"]) == ("o-1", 2)


def without_place(row: Row) -> Row:
    return {name: value for name, value in row.items() if name != "offset"}


def places(archived: list[Row], topic: str) -> list[tuple[object, object, object]]:
    return [
        (one["aggregate_id"], one["version"], one["offset"])
        for one in archived
        if one["topic"] == topic
    ]


def with_quantity(shown: list[Row], order: str, quantity: int) -> list[Row]:
    return [one | {"quantity": quantity} if one["order_id"] == order else one for one in shown]
