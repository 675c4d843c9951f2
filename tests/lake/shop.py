"""Invoices of one test on the shared broker, the lake behind them, and its readers."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pandas as pd
from confluent_kafka import Message, Producer
from pyspark.sql import SparkSession

from projections.outbound.invoice_line import invoice_line
from schemas.invoice import DeliveryAddress, InvoiceLineItem, InvoiceRecorded
from tests.application import APPLICATION, encode_event
from tests.kit.deployment import KafkaDeployment, await_true
from tests.kit.log import EventLog
from tests.wire.examples import INVOICE
from verdict.model.recorded_event import RecordedEvent
from verdict.operations.repair.positions import begin_without_progress
from verdict.reactions.lake.processor import lake
from verdict.reactions.lake.table import NAME, LakeSpan, position
from verdict.settings.load import load_settings
from verdict.streaming.event_log.skips import SkipRequest
from verdict.streaming.exactly_once.failpoints import OnStep, ignore_step
from verdict.streaming.exactly_once.query import lake_query
from verdict.streaming.exactly_once.read_progress import read_progress
from verdict.streaming.queries.kafka_source import StreamContext
from verdict.streaming.queries.stateless import StatelessProcessor

DAY_MS = 86_400_000
FIRST_DAY = 1_795_219_200_000  # 2026-11-21
PERSONAL = ("P-CASHIER", "P-CARD", "P-STREET", "P-PIN", "P-PHONE")


class Shop(KafkaDeployment):
    """Topics with a prefix of their own, what is sold, and a lake that can be started again."""

    def __init__(self, spark: SparkSession, servers: str, prefix: str, data_dir: Path) -> None:
        self.spark = spark
        self.data_dir = data_dir
        self.settings = load_settings(
            APPLICATION, data_dir=data_dir, topic_prefix=prefix, partitions=2, lake_trigger_ms=50
        )
        super().__init__(servers, self.settings.topics)
        self.query = lake_query(self.topics)
        self.table = data_dir / "lake" / "invoice_line"
        self.sold = 0  # line items
        self._log = EventLog(partitions=2, aggregate_type="invoice")
        self._invoices = 0
        topics = self.topics
        self.create_own(
            topics.events("invoice"), topics.dead_letters, topics.progress, topics.skips
        )
        self._producer = Producer(
            {**self.kafka.settings, "transactional.id": f"{prefix}decider", "log_level": 0}
        )
        self._producer.init_transactions(30)

    def sell(self, invoices: int, *, commit: bool = True) -> None:
        """Record invoices of one to three lines, over three days, in one transaction."""
        self._producer.begin_transaction()
        for number in range(self._invoices, self._invoices + invoices):
            invoice = invoice_of(number)
            event = self._log.add_unseen(f"INV-{number}", invoice)
            assert isinstance(event, RecordedEvent)
            self._produce(number % 2, encode_event(event))
            self.sold += len(invoice.invoice_line_items) * commit
        self._invoices += invoices
        if commit:
            self._producer.commit_transaction(30)
        else:
            self._producer.flush(30)
            self._producer.abort_transaction(30)

    def write(self, value: bytes | None) -> None:
        """Write what is no event."""
        self._producer.begin_transaction()
        self._produce(0, value)
        self._producer.commit_transaction(30)

    def write_progress(self, value: bytes | None) -> None:
        """Replace the progress record with garbage."""
        self.produce([(self.topics.progress, self.query.key, value, 0)])

    def begin_anew(self) -> None:
        """Do what the errors of the lake tell to do."""
        wish = SkipRequest(operator="ada", reason="a test", at=1)
        begin_without_progress(self.query, self.kafka, self.topics, wish, at_the_ends=False)

    @contextmanager
    def lake(self, on_step: OnStep = ignore_step) -> Iterator[StatelessProcessor]:
        """Run the lake; leaving it is a clean stop."""
        ground = StreamContext(
            spark=self.spark,
            kafka=self.kafka,
            source={"kafka.bootstrap.servers": self.servers},
            partitions=self.topics.partitions,
            scratch=self.data_dir,
        )
        running = lake(ground, self.settings, invoice_line, on_step)
        try:
            running.start()
            yield running
        finally:
            running.stop()

    def catch_up(self) -> None:
        """Run the lake until everything that was sold is behind its progress record."""
        with self.lake() as lake:
            follow(lake, self.is_caught_up)

    def is_caught_up(self) -> bool:
        end = sum(self.next_offsets(self.topics.events("invoice")).values())
        return self.marked() == end

    def marked(self) -> int | None:
        """Return the position of the progress record."""
        progress = read_progress(self.kafka, self.query, wait=True).progress
        return None if progress is None else position(progress.offsets)

    def letters(self) -> list[Message]:
        return self.committed(self.topics.dead_letters)

    def files(self) -> list[Path]:
        """Return every file in the lake but its lock."""
        found = (self.data_dir / "lake").rglob("*")
        return [path for path in found if path.is_file() and path.name != "verdict.lock"]

    def files_in_table(self) -> list[Path]:
        """Return the files that readers see."""
        return [path for path in self.files() if path.is_relative_to(self.table)]

    def batches(self) -> list[LakeSpan]:
        """Return the batches that readers see, in order."""
        found = (NAME.fullmatch(path.name) for path in self.table.iterdir())
        return sorted(LakeSpan(int(one[1]), int(one[2])) for one in found if one)

    def counts(self) -> set[int]:
        """Return how many rows each reader counts; each counts distinct keys too."""
        keys = ["invoice_number", "line_number"]
        by_spark = self.spark.read.parquet(str(self.table))
        by_pandas = pd.read_parquet(self.table)
        files = f"read_parquet('{self.table}/**/*.parquet', hive_partitioning = true)"
        by_duckdb = counted(f"select count(*), count(distinct ({', '.join(keys)})) from {files}")
        return {
            by_spark.count(),
            by_spark.select(keys).distinct().count(),
            len(by_pandas),
            len(by_pandas.drop_duplicates(keys)),
            *by_duckdb,
        }

    def close(self) -> None:
        """Let the producer go."""
        del self._producer

    def _produce(self, partition: int, value: bytes | None) -> None:
        self._producer.produce(self.topics.events("invoice"), value, b"key", partition)


def counted(query: str) -> list[int]:
    """Ask DuckDB, in a process of its own: where it was imported, it complains at the end."""
    script = "import sys, duckdb; print(*duckdb.execute(sys.argv[1]).fetchall()[0])"
    done = subprocess.run([sys.executable, "-c", script, query], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return [int(number) for number in done.stdout.split()]


def invoice_of(number: int) -> InvoiceRecorded:
    """Return an invoice with 1 to 3 lines; what is personal begins with one of `PERSONAL`."""
    items = [
        InvoiceLineItem(
            item_code=f"ITEM-{line}", item_price_cents=100, item_qty=line, total_value_cents=100
        )
        for line in range(1, 2 + number % 3)
    ]
    address = DeliveryAddress(
        address_line=f"P-STREET-{number}",
        city=f"CITY-{number}",
        pin_code=f"P-PIN-{number}",
        contact_number=f"P-PHONE-{number}",
    )
    return InvoiceRecorded(
        **INVOICE
        | {
            "created_time": FIRST_DAY + number % 3 * DAY_MS,
            "cashier_id": f"P-CASHIER-{number}",
            "customer_card_no": f"P-CARD-{number}",
            "delivery_address": address,
            "number_of_items": len(items),
            "invoice_line_items": items,
        }
    )


def follow(lake: StatelessProcessor, reached: Callable[[], bool]) -> None:
    """Wait for something as long as the lake runs."""
    await_true(reached, lake.check)
