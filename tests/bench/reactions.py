"""What re-keying costs: invoices lie by number, awards must lie by card, so each goes round again.

The policy's query reads the events and writes the commands, then the decider reads those. Both run
alone, one after the other, with the settings of `verdict up`; what the hop adds to an award is the
policy's share of the time. `direct` is the decider on the same commands without the hop.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random
from typing import Any

from commands.policies.award_points import award_points
from schemas.invoice import InvoiceLineItem, InvoiceRecorded
from tests.application import APPLICATION, encode_command, encode_event
from tests.bench.cpu import cpu_by_process
from tests.bench.progress import WARMING, await_rows, query_named, rows_per_s
from tests.bench.settings import settings_for
from tests.bench.workload import Sent, fill
from tests.projection.event_log import AN_EVENT
from verdict.adapters.kafka.topics import TopicAdmin
from verdict.model.policy import commands_of
from verdict.model.recorded_event import RecordedEvent, event_id
from verdict.reactions.policies.processor import start_reactions
from verdict.reactions.policies.reaction import NAME as REACTIONS
from verdict.service.bootstrap import start_runtime
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.query import DECIDER
from verdict.streaming.queries.stateless import StatelessProcessor
from verdict.write_side.decider.running import DeciderQuery

CARDS = 10_000
SEED = 1
LINES = 5

Result = dict[str, Any]


def reactions(servers: str, folder: Path, invoices: int, shards: int) -> Iterator[Result]:
    """Yield the rates of the policy, and of the decider on what the policy asks for.

    Args:
        servers: Of the broker.
        folder: Takes the data directory.
        invoices: How many, each of a customer with a card.
        shards: Of the decider.
    """
    events = list(_events(invoices))
    hop = _settings(servers, folder, "reactions", shards)
    fill(servers, hop.topics.events("invoice"), map(_as_sent, events))
    asked = _reacted(hop, invoices)
    straight = _settings(servers, folder, "straight", shards)
    fill(servers, straight.topics.commands("loyalty"), map(_as_asked, events))
    decided = _decided(straight, invoices)
    hop_s, decision_s = 1 / asked["per_s"], 1 / decided["per_s"]
    yield {
        "what": "reactions",
        "invoices": invoices,
        "policy_per_s": asked["per_s"],
        "policy_cpu_us": asked["cpu_us"],
        "direct_per_s": decided["per_s"],
        "direct_cpu_us": decided["cpu_us"],
        "rekeyed_per_s": round(1 / (hop_s + decision_s)),
        "rekeyed_to_direct": round(decision_s / (hop_s + decision_s), 3),
    }


def _settings(servers: str, folder: Path, name: str, shards: int) -> Settings:
    settings = settings_for(servers, folder, name, shards=shards)
    TopicAdmin({"bootstrap.servers": servers}, settings.topics).create_missing()
    return settings


def _reacted(settings: Settings, count: int) -> Result:
    with ExitStack() as parts:
        ground = start_runtime(settings, parts)
        processor = start_reactions(ground, settings)
        parts.callback(processor.stop)
        processor.start()
        return _measured(query_named(ground.spark, REACTIONS), count, processor)


def _decided(settings: Settings, count: int) -> Result:
    with ExitStack() as parts:
        ground = start_runtime(settings, parts)
        deciding = DeciderQuery(ground, settings)
        parts.callback(deciding.close)
        deciding.start()
        return _measured(query_named(ground.spark, DECIDER), count, deciding)


def _measured(query: Any, count: int, part: StatelessProcessor | DeciderQuery) -> Result:
    first, before = await_rows(query, round(count * WARMING), part.check), cpu_by_process()
    batches, after = await_rows(query, count, part.check), cpu_by_process()
    rows = sum(batch.rows for batch in batches[len(first) :]) or 1
    used = {kind: round((after[kind] - before.get(kind, 0.0)) / rows * 1e6) for kind in after}
    return {"per_s": round(rows_per_s(batches)), "cpu_us": used}


def _as_sent(event: RecordedEvent) -> Sent:
    return Sent(event.aggregate_id, event.aggregate_id.encode(), encode_event(event))


def _as_asked(event: RecordedEvent) -> Sent:
    """Return the policy's command as its query would write it."""
    [asked] = commands_of(award_points, event, APPLICATION.aggregate_of)
    value = encode_command(asked.aggregate_type, asked.envelope, asked.payload)
    return Sent(asked.envelope.command_id, asked.envelope.aggregate_id.encode(), value)


def _events(count: int) -> Iterator[RecordedEvent]:
    random = Random(SEED)
    for number in range(count):
        name = f"INV{number:08}"
        yield AN_EVENT._replace(
            aggregate_type="invoice",
            aggregate_id=name,
            version=1,
            event_id=event_id("invoice", name, 1),
            payload=_invoice(random),
        )


def _invoice(random: Random) -> InvoiceRecorded:
    line = InvoiceLineItem(
        item_code="598", item_price_cents=16_87_00, item_qty=1, total_value_cents=16_87_00
    )
    total = LINES * line.total_value_cents
    return InvoiceRecorded(
        created_time=AN_EVENT.decided_at,
        store_id=f"STR{random.randrange(3)}",
        pos_id="POS608",
        cashier_id="OAS822",
        customer_type="PRIME",
        customer_card_no=f"{4_629_000_000 + random.randrange(CARDS)}",
        total_amount_cents=total,
        number_of_items=LINES,
        payment_method="CARD",
        taxable_amount_cents=total,
        cgst_cents=total // 40,
        sgst_cents=total // 40,
        cess_cents=0,
        delivery_type="TAKEAWAY",
        invoice_line_items=[line] * LINES,
    )
