"""A materialised read model on a topic, in one Kafka transaction."""

from dataclasses import replace

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.reader import KafkaLog
from verdict.errors import VerdictError
from verdict.read_side.as_of.content import PROGRESS_KEY, CompletionRecord
from verdict.streaming.exactly_once.call_errors import TransactionFailedError
from verdict.streaming.exactly_once.transactions import Transactions
from verdict.wire.topics import Topics

ROWS_PER_S = 5_000  # that are surely published; a transaction gets that much longer


class KafkaTopic:
    """A topic of somebody else; the progress record is the last record of its transaction.

    Args:
        name: Of the topic, with all that stands before it.
        kafka: Where it is.
        log: Of the same Kafka.
        topics: Those of the deployment, which are not for this.
    """

    def __init__(self, name: str, kafka: KafkaConfig, log: KafkaLog, topics: Topics) -> None:
        self._name = name
        self._kafka = kafka
        self._log = log
        self._topics = topics

    def check(self) -> None:
        """Fail when there is no such topic, or when it is one of ours."""
        if self._name in {topic.name for topic in self._topics.all()}:
            raise VerdictError(
                f"{self._name} is a topic of verdict itself, which read models are built from: "
                "name another one with --to"
            )
        if not self._log.exists(self._name):
            raise VerdictError(
                f"{self._kafka} has no topic {self._name}: create it with the partitions and the "
                "retention that its readers need, then try again"
            )

    def write(self, completed: CompletionRecord) -> bool:
        """Publish the records together, unless the topic's last progress record is the same.

        So a run whose end was in doubt can be repeated: it is there once.
        """
        seconds = self._kafka.transaction_timeout_s + completed.count / ROWS_PER_S
        kafka = replace(self._kafka, transaction_timeout_s=seconds)
        # its initialisation ends what a former run has left open, so the progress can be believed
        transactions = Transactions(kafka, self._topics.transactional_id(f"export.{self._name}"))
        try:
            if self._last_progress() == completed.progress.line:
                return False
            self._publish(transactions, completed)
        except TransactionFailedError as broken:
            raise VerdictError(
                f"whether {self._name} has the records now is not known ({broken}): run the same "
                "again, which writes them only if they are not there"
            ) from broken
        except BaseException:
            transactions.abandon()
            raise
        finally:
            transactions.close()
        return True

    def _publish(self, transactions: Transactions, completed: CompletionRecord) -> None:
        transactions.begin()
        for record in completed.records():
            transactions.produce(self._name, record.key.encode(), record.line)
        transactions.flush()
        transactions.commit()

    def _last_progress(self) -> bytes | None:
        key = PROGRESS_KEY.encode()
        kept = self._log.bounds(self._log.places([self._name]))  # it may have got more meanwhile
        found = [
            self._log.last(place, span, lambda message: message.key() == key)
            for place, span in kept.items()
        ]
        progress_records = [message for message in found if message is not None]
        last = max(progress_records, key=lambda message: message.timestamp()[1], default=None)
        return None if last is None else last.value()
