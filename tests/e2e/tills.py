"""What tills send to a whole service, and what must have come of it at the end of the day.

Everybody may be killed meanwhile: an oracle adds up what was sent.
"""

import json
from collections import Counter, defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pyarrow.dataset import dataset

from tests.application import APPLICATION, decode_event
from tests.kit.deployment import await_true
from tests.kit.service import Deployment
from tests.reactions.running import behind
from tests.reactions.tills import PERSONAL, Sale, earned, recorded, shipped, totals
from verdict.reactions.policies.reaction import reactions_of, reactions_query
from verdict.settings.load import load_settings
from verdict.streaming.exactly_once.query import lake_query

ANY_PARTITION = -1
Records = list[tuple[str, bytes]]


def assert_sold(deployment: Deployment, day: Records) -> None:
    """P-01 to P-07, C-15: shipments, awards, messages and lake are what the oracle says."""
    invoices = recorded(value for _, value in day)
    loyalty, shipment = (
        values(deployment, deployment.topics.named(name)) for name in ("loyalty", "shipment")
    )
    assert_told(loyalty, shipment, invoices)
    assert_one_flow(deployment)
    assert_lake(deployment.data_dir / "lake", invoices)


def assert_told(
    loyalty: Iterable[bytes], shipment: Iterable[bytes], invoices: dict[str, Sale]
) -> None:
    """P-02 to P-05: customers and who delivers are told what the oracle says, each once."""
    told = [*map(json.loads, loyalty)]
    assert Counter(one["InvoiceNumber"] for one in told) == Counter(
        number for number, one in invoices.items() if earned(one) is not None
    )
    assert_running_totals(told)
    last = {one["CustomerCardNo"]: round(100 * one["TotalLoyaltyPoints"]) for one in told}
    assert last == totals(invoices)
    shipments = [*map(json.loads, shipment)]
    assert Counter(one["InvoiceNumber"] for one in shipments) == Counter(shipped(invoices))
    assert all(
        one["DeliveryAddress"] == invoices[one["InvoiceNumber"]]["DeliveryAddress"]
        for one in shipments
    )


def assert_lake(folder: Path, invoices: dict[str, Sale]) -> None:
    """P-06, P-07: a row per line item of every invoice, and nothing of a person."""
    rows = dataset(folder / "invoice_line", partitioning="hive").to_table().to_pylist()
    assert Counter(row["invoice_number"] for row in rows) == {
        number: len(one["InvoiceLineItems"]) for number, one in invoices.items()
    }
    assert PERSONAL not in str(rows)


def send(deployment: Deployment, records: Records) -> None:
    """Put what tills sent on `POS`."""
    topic = deployment.topics.named("POS")
    deployment.produce((topic, store, value, ANY_PARTITION) for store, value in records)


def await_quiet(deployment: Deployment) -> None:
    """Return when nothing follows any more: a decision may lead to a reaction, and that to one."""
    topics = deployment.topics
    settings = load_settings(APPLICATION, deployment=topics.deployment, topic_prefix=topics.prefix)
    reactions, lake = reactions_query(reactions_of(settings)), lake_query(topics)
    kafka = deployment.kafka

    def quiet() -> bool:
        return (
            not behind(reactions, topics, kafka)
            and decided(deployment)
            and not behind(reactions, topics, kafka)
            and not behind(lake, topics, kafka)
        )

    await_true(quiet, what="something follows still")


def decided(deployment: Deployment) -> bool:
    """Tell whether every command has its outcome, and no new one came meanwhile."""
    outcomes = deployment.outcomes()
    return outcomes == len(deployment.commands())


def values(deployment: Deployment, topic: str) -> list[bytes]:
    """Return what readers of committed records see, each partition in its order."""
    return [message.value() or b"" for message in deployment.committed(topic)]


def assert_running_totals(told: list[dict[str, Any]]) -> None:
    """P-04: the total of the nth notification of a card is the sum of the first n."""
    sums: dict[str, int] = defaultdict(int)
    for one in told:
        sums[one["CustomerCardNo"]] += round(100 * one["EarnedLoyaltyPoints"])
        assert sums[one["CustomerCardNo"]] == round(100 * one["TotalLoyaltyPoints"])


def assert_one_flow(deployment: Deployment) -> None:
    """C-15: a till's record, its invoice and its award have one correlation."""
    topics = deployment.topics
    recorded_events = [
        decode_event("invoice", value) for value in values(deployment, topics.events("invoice"))
    ]
    awards = [
        decode_event("loyalty", value) for value in values(deployment, topics.events("loyalty"))
    ]
    invoices = {event.aggregate_id: event for event in recorded_events}
    for award in awards:
        invoice = invoices[award.payload.invoice_number]  # type: ignore[attr-defined]
        assert award.correlation_id == invoice.correlation_id == invoice.command_id
        assert award.actor == "policy:award_points"
