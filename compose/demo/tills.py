"""Chapter: a day of three stores, and what follows from each invoice by itself."""

import json
from collections import Counter

from pyarrow.dataset import dataset

from compose.demo.story import Story
from compose.demo.till_day import STREET, TillDay, till_day

OUTCOMES = """
    SELECT coalesce(reason, status) AS verdict, count(*) AS invoices FROM outcome
    WHERE aggregate_type = 'invoice' GROUP BY 1 ORDER BY 1"""
BROKEN = "SELECT count(*) FROM dead_letter WHERE error LIKE '%no invoice%'"
CUSTOMERS = """
    SELECT l.aggregate_id AS card, count(*) AS invoices,
           count(DISTINCT json_extract(i.payload, '$.store_id')) AS stores,
           max(json_extract(l.payload, '$.total_points_hundredths')) / 100.0 AS points
    FROM event_archive l JOIN event_archive i
      ON i.aggregate_type = 'invoice'
     AND i.aggregate_id = json_extract(l.payload, '$.invoice_number')
    WHERE l.aggregate_type = 'loyalty' GROUP BY 1 ORDER BY points DESC, card LIMIT 4"""


def tell(story: Story) -> None:
    """Let the tills send their day, wait for all that follows, and add it up."""
    day = till_day(max(100, story.commands // 5))
    items = sum(one["NumberOfItems"] for one in day.invoices)
    story.voice.begin(
        f"{len(day.invoices):,} invoices from the tills of three stores",
        f"Tills send JSON with {items:,} line items to the topic POS. Each invoice becomes a "
        "command and is recorded once, however often it is sent. A policy awards points to the "
        "customer's card in each store. Notifications go to the delivery service and to the "
        "customer.",
    )
    for store, value in day.records:
        story.kafka.produce("POS", store.encode(), value)
    story.kafka.flush()
    story.settle()
    _recorded(story, day)
    _points(story, day)
    _told(story, day)
    _lake(story, day, items)


def _recorded(story: Story, day: TillDay) -> None:
    once = f"{len(day.invoices):,} invoices are recorded, {day.repeated:,} that came again are not"
    recorded = {"ACCEPTED": len(day.invoices), "ALREADY_EXISTS": day.repeated}
    story.voice.expect(once, recorded, dict(story.ask(OUTCOMES)))
    broken = f"{day.broken:,} broken records of tills are kept in dead-letters"
    story.voice.expect(broken, [(day.broken,)], story.select(BROKEN))


def _points(story: Story, day: TillDay) -> None:
    best = story.ask(CUSTOMERS, "--as", "auditor")  # who sees payloads
    right = {card: day.points[card] / 100 for card, *_ in best}
    found = {card: points for card, *_, points in best}
    story.voice.expect("a customer's points add up over all stores", right, found)


def _told(story: Story, day: TillDay) -> None:
    earned: Counter[str] = Counter()
    in_sum, awards = 0, len(day.prime)
    for message in story.kafka.records("loyalty"):
        one = json.loads(message.value() or b"")
        earned[one["CustomerCardNo"]] += round(100 * one["EarnedLoyaltyPoints"])
        in_sum += earned[one["CustomerCardNo"]] == round(100 * one["TotalLoyaltyPoints"])
    told = f"{awards:,} customers get their points, each total the sum so far"
    story.voice.expect(told, (awards, day.points), (in_sum, earned))
    keys = [message.key() for message in story.kafka.records("shipment")]
    deliveries = sum(one["DeliveryAddress"] is not None for one in day.invoices)
    home = f"the delivery service gets {deliveries:,} home deliveries, each once"
    story.voice.expect(home, (deliveries, deliveries), (len(keys), len({*keys})))


def _lake(story: Story, day: TillDay, items: int) -> None:
    folder = story.service.settings.data_dir / "lake" / "invoice_line"
    everything = dataset(folder, partitioning="hive", format="parquet").to_table()
    there = f"{items:,} line items are in the lake, as Parquet"
    story.voice.expect(there, items, everything.num_rows)
    written = "\n".join(sorted({str(value) for column in everything for value in column.unique()}))
    found = [value for value in (STREET, *day.points) if value in written]
    story.voice.expect("no card and no address is in any of them", [], found)
