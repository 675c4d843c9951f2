"""Folds the whole log in several processes.

The records of a key go into the same file. A process sorts the records of one file at a time in
memory: up to 50 million records, that takes the same memory for a log of any length.
"""

import multiprocessing
import pickle
import shutil
import signal
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from itertools import islice
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any
from zlib import crc32

from pyspark import cloudpickle

from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.spark.gc import collector_paused
from verdict.errors import VerdictError
from verdict.read_side.live.decoding import RecordDecoder
from verdict.read_side.projections.projection import CannotApplyError, Projection, Rebuildable
from verdict.read_side.rebuild.final_rows import FinalRows, FoldedRows, RawValues
from verdict.read_side.tables.interventions import Amendments
from verdict.streaming.event_log.event_log import EventLog
from verdict.streaming.event_log.record import RawRecord
from verdict.wire.partitions import PartitionOffsets
from verdict.wire.topics import Topics

PAGE = 1000  # records in memory at a time: one can have a megabyte
FILE_RECORDS = 100_000  # on average
GO = "go"  # all records are in the files
FILES = 500  # at most, as all are open at the same time: a longer log has larger ones


def ends_of(projection: Projection, log: KafkaLog, topics: Topics) -> PartitionOffsets:
    """Return the end of the log now, of each partition that ever had a record."""
    kept = log.bounds(log.places(projection.topics(topics)))
    return {place: span.end for place, span in kept.items() if span.end > 0}


@dataclass(frozen=True, slots=True)
class LogFold:
    """Folds all records before some ends; they go through files in `scratch`."""

    events: EventLog
    topics: Topics
    scratch: Path
    processes: int

    def __call__(
        self, projection: Rebuildable, ends: PartitionOffsets, in_force: Amendments
    ) -> Iterator[FoldedRows]:
        """Yield the rows of a projection's first table.

        Raises:
            CannotApplyError: A record cannot be applied.
        """
        shutil.rmtree(self.scratch, ignore_errors=True)
        self.scratch.mkdir(parents=True)
        number = min(FILES, self.processes + sum(ends.values()) // FILE_RECORDS)
        files = [self.scratch / f"{nth}.pickle" for nth in range(number)]
        task = FinalRows(RecordDecoder(self.topics), projection.builder, in_force)
        shares = [files[nth :: self.processes] for nth in range(self.processes)]
        with ExitStack() as parts:
            processes = start(task, shares, parts)  # they import modules while this one reads
            distribute(self.events.read({}, ends), files)
            yield from fold(processes)
        shutil.rmtree(self.scratch)


def distribute(records: Iterator[RawRecord], files: Sequence[Path]) -> None:
    """Write the records into files; all records of a key go into the same one."""
    with ExitStack() as parts:
        contents = [parts.enter_context(file.open("wb")) for file in files]
        while page := [*islice(records, PAGE)]:
            shares: list[list[RawRecord]] = [[] for _ in files]
            for record in page:
                shares[crc32(record.key or b"") % len(files)].append(record)
            for content, share in zip(contents, shares, strict=True):
                pickle.dump([tuple(record) for record in share], content, pickle.HIGHEST_PROTOCOL)


def start(
    task: FinalRows, shares: Iterable[Sequence[Path]], parts: ExitStack
) -> dict[Any, BaseProcess]:
    """Start a process for each share of the files; return them by their connections."""
    # this process has threads, so its own fork could hang; that of the server imports once for all
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    pickled = cloudpickle.dumps(task)  # type: ignore[no-untyped-call]  # it can contain lambdas
    processes: dict[Any, BaseProcess] = {}
    for files in shares:
        ours, theirs = context.Pipe()
        process = context.Process(target=_send, args=(pickled, files, theirs), daemon=True)
        process.start()
        parts.callback(process.join)
        parts.callback(process.terminate)
        theirs.close()  # so that the end of the process ends the connection
        processes[ours] = process
    return processes


def fold(processes: dict[Any, BaseProcess]) -> Iterator[FoldedRows]:
    """Let the processes fold their files; yield the rows of all, and raise as `FinalRows` does."""
    ready: Any
    for connection in processes:
        connection.send(GO)
    while processes:
        for ready in wait(processes):
            try:
                found = ready.recv()
            except (EOFError, OSError):  # OSError: it ended while it sent rows
                _check_end(processes.pop(ready))
                continue
            if isinstance(found, CannotApplyError):
                raise found
            yield found


def _check_end(process: BaseProcess) -> None:
    process.join()
    if process.exitcode:
        raise VerdictError(
            f"a process that folded records ended with code {process.exitcode}: fix what it "
            "reports on stderr, then rebuild again"
        )


def _send(pickled: bytes, files: Sequence[Path], parent: Connection) -> None:
    """Fold some files when the parent says so; it also ends when the parent has ended."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends this process
    task: FinalRows = pickle.loads(pickled)
    with suppress(BrokenPipeError, ConnectionResetError, EOFError):
        parent.recv()
        try:
            for file in files:
                with collector_paused():
                    for rows in task(_sorted(file)):
                        parent.send(rows)
        except CannotApplyError as error:
            parent.send(error)


def _sorted(file: Path) -> list[RawValues]:
    """Return the records of a file by key and then by position."""
    records: list[RawValues] = []
    with file.open("rb") as content, suppress(EOFError):
        while True:
            records += pickle.load(content)
    return sorted(records, key=_order)


def _order(record: RawValues) -> tuple[bytes, str, int, int]:
    topic, partition, offset, key, _ = record
    return key or b"", topic, partition, offset
