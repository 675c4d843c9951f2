"""What re-keying costs: invoices are keyed by number, awards by card, so each goes round again.

The policy's query reads the events and writes the commands, then the decider reads those. Both run
alone, one after the other, with the settings of `verdict up`; what the hop adds to an award is the
policy's share of the time. `direct` is the decider on the same commands without the hop.
"""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from random import Random

from benchmarks.measurement import create_topics, measure, query_named, run_decider, settings_for
from benchmarks.results import Result
from benchmarks.workload import Sent, fill
from commands.policies.award_points import award_points
from schemas.invoice import InvoiceRecorded
from tests.application import APPLICATION, encode_command, encode_event
from tests.kit.log import AN_EVENT
from tests.wire.examples import INVOICE
from verdict.model.policy import commands_of
from verdict.model.recorded_event import RecordedEvent, event_id
from verdict.reactions.policies.processor import start_reactions
from verdict.reactions.policies.reaction import NAME as REACTIONS
from verdict.service.bootstrap import start_runtime
from verdict.settings.settings import Settings

CARDS = 10_000
SEED = 1
LINES = 5


def policies(servers: str, folder: Path, invoices: int, shards: int) -> Iterator[Result]:
    """Yield the rates of the policy, and of the decider on what the policy asks for."""
    events = list(_events(invoices))
    hop = settings_for(servers, folder, "policies", shards=shards)
    create_topics(hop)
    fill(servers, hop.topics.events("invoice"), map(_as_sent, events))
    asked = _reacted(hop, invoices)
    straight = settings_for(servers, folder, "straight", shards=shards)
    create_topics(straight)
    fill(servers, straight.topics.commands("loyalty"), map(_as_asked, events))
    decided = run_decider(straight, invoices)
    hop_s, decision_s = 1 / asked["per_s"], 1 / decided["per_s"]
    yield {
        "what": "policies",
        "invoices": invoices,
        "policy_per_s": asked["per_s"],
        "policy_cpu_us": asked["cpu_us"],
        "direct_per_s": decided["per_s"],
        "direct_cpu_us": decided["cpu_us"],
        "rekeyed_per_s": round(1 / (hop_s + decision_s)),
        "rekeyed_to_direct": round(decision_s / (hop_s + decision_s), 3),
    }


def _reacted(settings: Settings, count: int) -> Result:
    with ExitStack() as parts:
        runtime = start_runtime(settings, parts)
        processor = start_reactions(runtime, settings)
        parts.callback(processor.stop)
        processor.start()
        return measure(query_named(runtime.spark, REACTIONS), count, processor.check)


def _as_sent(event: RecordedEvent) -> Sent:
    return Sent(event.aggregate_id, event.aggregate_id.encode(), encode_event(event))


def _as_asked(event: RecordedEvent) -> Sent:
    """Return the policy's command as its query would write it."""
    [(envelope, payload)] = commands_of(award_points, event)
    value = encode_command(APPLICATION.aggregate_of(type(payload)), envelope, payload)
    return Sent(envelope.command_id, envelope.aggregate_id.encode(), value)


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
    [line, _] = INVOICE["invoice_line_items"]
    card = f"{4_629_000_000 + random.randrange(CARDS)}"
    items = {"number_of_items": LINES, "invoice_line_items": [line] * LINES}
    no_delivery = {"delivery_type": "TAKEAWAY", "delivery_address": None}
    return InvoiceRecorded(**INVOICE | items | no_delivery | {"customer_card_no": card})
