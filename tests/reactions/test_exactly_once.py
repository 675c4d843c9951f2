"""Each output once for whoever reads committed records, wherever the process ends."""

import json
from collections import Counter
from hashlib import sha256
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from commands.point_of_sale import command_of
from schemas.invoice import InvoiceRecorded
from tests.application import decode_command, encode_event
from tests.reactions.running import Reacted
from tests.reactions.tills import Sale, earned, sales, shipped
from tests.reactions.tills import recorded as recorded_sales
from tests.wire.examples import recorded
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.errors import VerdictError
from verdict.model.recorded_event import RecordedEvent
from verdict.model.source import Source
from verdict.operations.repair.positions import begin_without_progress
from verdict.reactions.policies.reaction import reactions_of, reactions_query
from verdict.streaming.event_log.skip_log import read_skips, write_skips
from verdict.streaming.event_log.skips import SkipRequest
from verdict.streaming.exactly_once.failpoints import Failpoint
from verdict.streaming.exactly_once.restart import restart_from_progress
from verdict.wire.dead_letter import DeadLetter
from verdict.wire.dead_letter_record import RETRY_ATTEMPT, RETRY_POLICY
from verdict.wire.records import decode
from verdict.wire.skip_record import SkipRecord
from verdict.wire.topics import KEY_BYTES, Topics

pytestmark = [pytest.mark.spark]


@pytest.fixture
def reacted(spark: SparkSession, broker: EmbeddedBroker, topics: Topics, tmp_path: Path) -> Reacted:
    return Reacted(spark, broker.bootstrap_servers, topics, tmp_path)


def event_of(number: str, sale: Sale) -> RecordedEvent:
    _, command = command_of(json.dumps(sale).encode(), Source("POS", 0, 0))
    payload = InvoiceRecorded(**dict(command))
    return recorded("invoice", payload, aggregate_id=number, event_id=number)


@pytest.mark.proves("P-01")
@pytest.mark.long
def test_every_record_of_a_till_becomes_one_command_or_one_letter(reacted: Reacted) -> None:
    """Killed before, inside and after the transaction, each time without what lay on the disk."""
    topics = reacted.topics
    day = list(sales(120, seed=1))
    reacted.send(topics.named("POS"), day[:60])
    reacted.killed_at(Failpoint.OUTPUT_COMPUTED)
    reacted.killed_at(Failpoint.TRANSACTION_OPEN)
    reacted.send(topics.named("POS"), day[60:])
    reacted.killed_at(Failpoint.BEFORE_COMMIT)
    reacted.killed_at(Failpoint.COMMITTED)
    reacted.run_to_the_end()

    commands = [message.value() for message in reacted.on(topics.commands("invoice"))]
    ids = [decode_command("invoice", value)["command_id"] for value in commands if value]
    letters = reacted.on(topics.dead_letters)
    whole = [value for _, value in day if b"InvoiceLineItems" in value]
    assert len(ids) == len(set(ids)) == len(whole)
    assert len(letters) == len(day) - len(whole) > 0


@pytest.mark.proves("P-02", "P-07")
def test_an_event_leads_to_each_of_its_outputs_once(reacted: Reacted) -> None:
    topics = reacted.topics
    invoices = recorded_sales(value for _, value in sales(80, seed=2))
    happened = [(number, encode_event(event_of(number, one))) for number, one in invoices.items()]
    reacted.send(topics.events("invoice"), happened)
    reacted.killed_at(Failpoint.BEFORE_COMMIT)
    reacted.killed_at(Failpoint.COMMITTED)
    reacted.run_to_the_end()

    told = Counter(message.key() for message in reacted.on(topics.named("shipment")))
    assert told == Counter(number.encode() for number in shipped(invoices))
    awards = reacted.on(topics.commands("loyalty"))
    assert len(awards) == sum(earned(one) is not None for one in invoices.values())


@pytest.mark.proves("C-11")
def test_no_header_and_no_key_ends_the_reactions(reacted: Reacted) -> None:
    """G-02: headers are any bytes, keys any number of them; each record has its outcome."""
    topics, sale = reacted.topics, next(value for _, value in sales(1, seed=7))
    not_text = dict.fromkeys((RETRY_POLICY, RETRY_ATTEMPT, "theirs"), b"\xff\xfe")
    many = {f"h{n}": b"x" * 1000 for n in range(2_000)}
    key = "k" * 3_000_000
    event = encode_event(event_of("1", json.loads(sale)))
    reacted.send(topics.named("POS"), [("till", sale), ("till", b"no invoice")], not_text)
    reacted.send(topics.named("POS"), [(key, sale), (key, b"no invoice")])
    reacted.send(topics.named("POS"), [("till", sale)], many)
    reacted.send(topics.events("invoice"), [("1", event)], not_text)
    reacted.send(topics.retry, [("1", event)], not_text)
    reacted.run_to_the_end()

    assert len(reacted.on(topics.commands("invoice"))) == 3
    letters = [decode(DeadLetter, one.value() or b"") for one in reacted.on(topics.dead_letters)]
    assert len(letters) == 3
    [named] = [one for one in letters if one.source.topic == topics.retry]
    assert named.error.startswith("no reaction is named '\\\\xff\\\\xfe': there are")
    [cut] = [one for one in letters if one.key_length is not None]
    assert (cut.key, cut.key_length) == (key[:KEY_BYTES].encode(), len(key))
    assert cut.key_sha256 == sha256(key.encode()).digest()


@pytest.mark.long
@pytest.mark.proves("C-11")
def test_a_till_s_record_that_a_person_skips_is_jumped_once(reacted: Reacted) -> None:
    """G-03: it has its letter, those before it are sent again, those behind it are reacted to."""
    topics, day = reacted.topics, [value for _, value in sales(20, seed=8) if b"Invoice" in value]
    reacted.send(topics.named("POS"), [("till", value) for value in day[:3]])
    [place] = {(m.partition() or 0, 1) for m in reacted.on(topics.named("POS"))}
    skipped = Source(topics.named("POS"), *place)
    options = {"bootstrap.servers": reacted.servers}
    word = SkipRecord(
        source=skipped, until_offset=2, operator="ada", reason="too large", decided_at=1
    )
    write_skips(options, topics, [word])

    reacted.run_to_the_end()
    reacted.run_to_the_end()

    letters = [decode(DeadLetter, one.value() or b"") for one in reacted.on(topics.dead_letters)]
    told = {one.source.offset: one for one in letters}
    assert (len(letters), sorted(told)) == (2, [0, 1])
    assert (told[1].error, told[1].bytes) == ("skipped by ada: too large", day[1])
    assert told[0].error.endswith("it is sent again")
    [command] = reacted.on(topics.commands("invoice"))
    assert decode_command("invoice", command.value() or b"")["command_id"] == (
        f"{topics.named('POS')}:{place[0]}:2"
    )


@pytest.mark.long
@pytest.mark.proves("P-07", "C-17")
@pytest.mark.parametrize("left", [None, b"garbage"])
def test_without_a_progress_record_reactions_begin_at_the_ends(
    reacted: Reacted, left: bytes | None
) -> None:
    topics, query = reacted.topics, reactions_query(reactions_of(reacted.settings))
    day = [value for _, value in sales(9, seed=9) if b"InvoiceLineItems" in value]
    reacted.send(topics.named("POS"), [("till", day[0])])
    reacted.send(topics.named("shipment"), [("5582023", b"{}")])
    reacted.write_progress(query, left)
    with pytest.raises(VerdictError, match=r"`verdict reset-progress policies --reason …`"):
        restart_from_progress(query, reacted.kafka)

    wish = SkipRequest(operator="ada", reason="the topic was lost", at=1)
    begin_without_progress(query, reacted.kafka, topics, wish, at_the_ends=True)
    reacted.send(topics.named("POS"), [("till", day[1])])
    reacted.run_to_the_end()

    [command] = reacted.on(topics.commands("invoice"))
    assert decode_command("invoice", command.value() or b"")["command_id"].endswith(":1")
    [decision] = read_skips(reacted.kafka.settings, topics)
    assert (decision.operator, decision.source.topic) == ("ada", topics.progress)
    assert decision.reason.endswith(": the topic was lost")


@pytest.mark.proves("C-11")
def test_a_retry_that_a_person_skips_is_jumped(reacted: Reacted) -> None:
    """Of those before it ours is sent again, another service's is not."""
    topics = reacted.topics
    reacted.send(topics.retry, [("1", b"ours")], {RETRY_POLICY: "award_points"})
    reacted.send(topics.retry, [("1", b"another service's"), ("1", b"the giant")])
    [number] = {message.partition() or 0 for message in reacted.on(topics.retry)}
    skipped = Source(topics.retry, number, 2)
    word = SkipRecord(
        source=skipped, until_offset=3, operator="ada", reason="too large", decided_at=1
    )
    write_skips(reacted.kafka.settings, topics, [word])

    reacted.run_to_the_end()

    letters = {one.value(): one for one in reacted.on(topics.dead_letters)}
    found = {decode(DeadLetter, value or b"").source.offset: one for value, one in letters.items()}
    assert sorted(found) == [0, 2]
    assert (RETRY_POLICY, b"award_points") in (found[0].headers() or [])
