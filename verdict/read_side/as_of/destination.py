"""Where an export goes: a file or a topic, whole or not at all, or stdout."""

import os
import sys
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Protocol

from verdict.adapters.kafka.connection import KafkaConfig
from verdict.adapters.kafka.reader import KafkaLog
from verdict.errors import VerdictError
from verdict.read_side.as_of.content import COMPLETION_KEY, CompletionRecord
from verdict.streaming.exactly_once.call_errors import TransactionFailedError
from verdict.streaming.exactly_once.transactions import Transactions
from verdict.wire.topics import Topics

ROWS_PER_S = 5_000  # that are surely published; a transaction gets that much longer


class Destination(Protocol):
    """Takes all records or none of them."""

    def check(self) -> None:
        """Fail before the work is done when it would be for nothing."""
        ...

    def write(self, completed: CompletionRecord) -> bool:
        """Write the records; return whether they were not there already."""
        ...


class FileDestination:
    """A file of lines, which is written under another name and then renamed."""

    def __init__(self, path: Path, ours: Iterable[Path] = ()) -> None:
        if not path.name:  # such as `/` and `.`
            raise VerdictError(f"{path} is a folder: name the file in it")
        self._path = path
        self._ours = [one.resolve() for one in ours]
        self._new = path.with_name(f".{path.name}.{os.getpid()}.new")

    def check(self) -> None:
        """Fail when the folder does not take a file of that name, or the file is the service's."""
        whole = self._path.resolve()
        if any(whole.is_relative_to(one) for one in self._ours):
            raise VerdictError(
                f"{self._path} is in a folder of the service's own data, which this would "
                "replace: name a file elsewhere with --to"
            )
        try:
            if self._path.is_dir():
                raise VerdictError(f"{self._path} is a folder: name the file in it")
            self._new.touch()
            self._new.unlink()
        except OSError as error:
            raise self._refused(error) from error

    def write(self, completed: CompletionRecord) -> bool:
        """Replace the file, on the disk."""
        try:
            with self._new.open("wb") as file:
                file.writelines(record.line + b"\n" for record in completed.records())
                file.flush()
                os.fsync(file.fileno())
            self._new.replace(self._path)
        except OSError as error:
            raise self._refused(error) from error
        finally:
            self._new.unlink(missing_ok=True)
        return True

    def _refused(self, error: OSError) -> VerdictError:
        return VerdictError(
            f"{self._path} cannot be written ({error}): name another file with --to, or make it "
            "possible; what was there is unchanged"
        )


class StdoutDestination:
    """Prints the lines; the completion record at the end says that they are complete."""

    def check(self) -> None:
        """Return, as it can be written to."""

    def write(self, completed: CompletionRecord) -> bool:
        """Print the records."""
        for record in completed.records():
            sys.stdout.write(record.line.decode() + "\n")
        return True


class KafkaTopic:
    """A topic of somebody else; the completion record is the last record of its one transaction."""

    def __init__(self, name: str, kafka: KafkaConfig, log: KafkaLog, topics: Topics) -> None:
        self._name = name
        self._kafka = kafka
        self._log = log
        self._topics = topics

    def check(self) -> None:
        """Fail when there is no such topic, or when it is one of ours."""
        if self._name in {topic.name for topic in self._topics.all()}:
            raise VerdictError(
                f"{self._name} is a topic of verdict itself, which projections are built from: "
                "name another one with --to"
            )
        if not self._log.exists(self._name):
            raise VerdictError(
                f"{self._kafka} has no topic {self._name}: create it with the partitions and the "
                "retention that its readers need, then try again"
            )

    def write(self, completed: CompletionRecord) -> bool:
        """Publish the records together, unless the topic's last completion record is the same.

        So a run whose end was in doubt can be repeated: it is there once.
        """
        seconds = self._kafka.transaction_timeout_s + completed.count / ROWS_PER_S
        kafka = replace(self._kafka, transaction_timeout_s=seconds)
        # its initialisation ends what a former run left open, so the completion can be believed
        transactions = Transactions(kafka, self._topics.transactional_id(f"export.{self._name}"))
        try:
            if self._last_completion() == completed.completion.line:
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

    def _last_completion(self) -> bytes | None:
        key = COMPLETION_KEY.encode()
        kept = self._log.bounds(self._log.places([self._name]))  # it may have got more meanwhile
        found = [
            self._log.last(place, span, lambda message: message.key() == key)
            for place, span in kept.items()
        ]
        completions = [message for message in found if message is not None]
        last = max(completions, key=lambda message: message.timestamp()[1], default=None)
        return None if last is None else last.value()
