"""Chapter: a day of three stores, and what follows from each invoice by itself."""

import json
import time
from collections import Counter

from pyarrow.dataset import dataset

from compose.demo.load import records
from compose.demo.settling import settle_reactions
from compose.demo.story import Measure, Story
from compose.demo.till_day import TillDay, till_day
from projections.outbound.invoice_line import invoice_line
from verdict.exactly_once.lake_query import lake_dir

FEWEST = 100
COMMANDS_TO_AN_INVOICE = 5

OUTCOMES = """\
SELECT coalesce(reason, status), count(*) FROM outcome
WHERE aggregate_type = 'invoice' GROUP BY 1 ORDER BY 1"""

CUSTOMERS = """\
SELECT l.aggregate_id AS card, count(*) AS invoices,
       count(DISTINCT json_extract(i.payload, '$.store_id')) AS stores,
       max(json_extract(l.payload, '$.total_points_hundredths')) / 100.0 AS points
FROM event_archive l JOIN event_archive i
  ON i.aggregate_type = 'invoice'
 AND i.aggregate_id = json_extract(l.payload, '$.invoice_number')
WHERE l.aggregate_type = 'loyalty' GROUP BY 1 ORDER BY points DESC, card LIMIT 4"""


def tell(story: Story) -> None:
    """Let the tills send their day, wait for all that follows, and add it up."""
    day = till_day(max(FEWEST, story.commands // COMMANDS_TO_AN_INVOICE))
    story.voice.begin(
        f"{day.invoices:,} invoices from the tills of three stores",
        f"Tills send JSON with {day.lines:,} line items to the topic POS. Each invoice becomes a "
        "command and is recorded once, however often it is sent. A policy awards points to the "
        "customer's card, in whatever store it was used; who delivers is told; and so is the "
        "customer.",
    )
    began = time.perf_counter()
    for store, value in day.records:
        story.plain.produce(story.topics.named("POS"), value, store)
        story.plain.poll(0)
    story.plain.flush()
    settle_reactions(story)
    took_s = time.perf_counter() - began
    story.measures.append(
        Measure(
            f"{day.invoices / took_s:,.0f}/s",
            f"invoices, from a till to the last notification of {day.awards:,} awards",
        )
    )
    _recorded(story, day)
    _points(story, day)
    _told(story, day)
    _lake(story, day)


def _recorded(story: Story, day: TillDay) -> None:
    found = dict(story.select(OUTCOMES).rows)
    story.voice.expect(
        f"{day.invoices:,} invoices are recorded, {day.repeated:,} that came again are not",
        {"ACCEPTED": day.invoices, "ALREADY_EXISTS": day.repeated},
        found,
    )
    letters = [message.value() or b"" for message in records(story, [story.topics.dead_letters])]
    story.voice.expect(
        f"{day.broken:,} broken records of tills are kept in dead-letters",
        day.broken,
        sum(b"no invoice" in letter for letter in letters),
    )
    story.voice.say("")


def _points(story: Story, day: TillDay) -> None:
    for line in CUSTOMERS.splitlines():
        story.voice.say(line)
    answer = story.select(CUSTOMERS)
    best = list(answer.rows)
    story.voice.say("")
    story.voice.show(answer.columns, best, numbers=("invoices", "stores", "points"))
    story.voice.expect(
        "a customer's points add up over all stores",
        [(card, len(day.stores[card]), day.points[card] / 100) for card, *_ in best],
        [(card, stores, points) for card, _, stores, points in best],
    )


def _told(story: Story, day: TillDay) -> None:
    told = [
        json.loads(message.value() or b"")
        for message in records(story, [story.topics.named("loyalty")])
    ]
    earned: Counter[str] = Counter()
    out_of_sum = 0
    for one in told:
        card = one["CustomerCardNo"]
        earned[card] += round(100 * one["EarnedLoyaltyPoints"])
        out_of_sum += earned[card] != round(100 * one["TotalLoyaltyPoints"])
    story.voice.expect(
        f"{day.awards:,} customers are told their points, each total the sum so far",
        (day.awards, day.points, 0),
        (len(told), earned, out_of_sum),
    )
    story.voice.expect(
        f"who delivers is told of {day.deliveries:,} home deliveries, of each once",
        (day.deliveries, day.deliveries),
        _different(story),
    )


def _lake(story: Story, day: TillDay) -> None:
    folder = lake_dir(story.running.settings) / invoice_line.name

    def lines() -> int:
        return int(dataset(folder, partitioning="hive", format="parquet").count_rows())

    story.wait_until(lambda: lines() >= day.lines, "the last line item in the lake", progress=lines)
    story.voice.expect(f"{day.lines:,} line items lie in the lake, as Parquet", day.lines, lines())
    everything = dataset(folder, partitioning="hive", format="parquet").to_table()
    written = "\n".join(sorted({str(value) for column in everything for value in column.unique()}))
    story.voice.expect(
        "no card and no address is in any of them",
        [],
        [value for value in ("Station Road", *day.points) if value in written],
    )


def _different(story: Story) -> tuple[int, int]:
    keys = [message.key() for message in records(story, [story.topics.named("shipment")])]
    return len(keys), len(set(keys))
