"""Collects a status from the service's announcement, Kafka and the database."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from verdict.adapters.kafka.connection import kafka_of
from verdict.adapters.kafka.reader import KafkaLog
from verdict.errors import TimedOutError, UnreachableError, VerdictError
from verdict.operations.status.database_timeout import DatabaseTimeout
from verdict.operations.status.problems import (
    NOTHING_RUNS,
    kafka_away,
    killed,
    not_running,
    problems_of,
    service_problems,
    topic_problems,
)
from verdict.operations.status.read_side_status import views_of
from verdict.operations.status.status import DATABASE, KAFKA, Problem, StatusReport
from verdict.operations.status.write_side_status import (
    decider,
    log_of,
    open_transactions,
    processors,
    topic_differences,
)
from verdict.read_side.tables.same_topics import require_same_read_side
from verdict.service.queries import queries_of
from verdict.settings.discovery import (
    AnnouncedService,
    killed_roles,
    service_on,
    silence_s,
    starting_on,
)
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.log_identity import require_log_of
from verdict.streaming.exactly_once.query import DECIDER
from verdict.streaming.exactly_once.read_progress import decode_progress

Answer = TypeVar("Answer")

PAUSE_S = 0.1


def get_status(settings: Settings, timeout: DatabaseTimeout | None = None) -> StatusReport:
    """Return how far each component has come, and what is wrong; within seconds, whatever hangs.

    What does not answer is unknown, and among the problems. Kafka is not asked if the service says
    that it is away. If the settings do not say where Kafka and the database are, the service that
    runs on their data directory does. With the same `timeout` for repeated calls, a database that
    hangs is asked once.
    """
    running = service_on(settings.data_dir)
    processes = tuple(running.values())
    away = [problem for service in processes for problem in kafka_away(service)][:1]
    asking = _StatusQuery(away, timeout or DatabaseTimeout())
    decides = next((one for one in processes if DECIDER in one.roles or not one.roles), None)
    starting = None if processes else starting_on(settings.data_dir)
    found = StatusReport(decides, settings.data_dir, processes=processes, starting=starting)
    views = asking.ask_database("views", partial(views_of, settings))
    with ExitStack() as held:
        log = None if away else asking.ask(lambda: held.enter_context(log_of(settings)))
        if log is not None:
            found = _with_kafka(asking, settings, log, found, views is not None)
        if views is not None:
            found = views.added_to(found, log)
    others = (*_announced(settings, running), *asking.problems, *problems_of(found))
    down = (*not_running(found),)
    problems = (*down, *(one for one in others if not (down and one.startswith(NOTHING_RUNS))))
    return replace(found, problems=problems, unreachable=asking.unreachable)


def wait_until_idle(settings: Settings, patience_s: float = 120.0) -> Iterator[StatusReport]:
    """Look until each command is decided, its consequences too, and each table shows them.

    For tests and scripts next to a running service. The last look finds nothing left to do.

        for look in wait_until_idle(load_settings(app)):
            print(f"{look.lag} records behind")

    Raises:
        TimedOutError: Nothing moved for `patience_s` seconds; says what is stopped.
    """
    # one look is not enough: it asks one component after another, and a policy may send meanwhile
    before, now = None, get_status(settings)
    moved = time.monotonic()
    while True:
        yield now
        if before is None or _reached(before) != _reached(now):
            moved = time.monotonic()
        elif now.lag == 0:
            return
        elif time.monotonic() - moved > patience_s:
            raise TimedOutError(
                f"nothing moved for {patience_s:g} s, {now.lag} records behind"
                + "".join(f"; {one}" for one in now.problems)
            )
        time.sleep(PAUSE_S)
        before, now = now, get_status(settings)


def _reached(found: StatusReport) -> tuple[object, ...]:
    return found.commands, found.processors, found.projections, found.dead_letters


class _StatusQuery:
    """Asks one question after another, and keeps what goes wrong."""

    def __init__(self, kafka_away: Iterable[Problem], timeout: DatabaseTimeout) -> None:
        self.problems = [*kafka_away]
        self.unreachable = self.lacks_kafka = bool(self.problems)
        self._timeout = timeout

    def ask_database(self, name: str, question: Callable[[], Answer]) -> Answer | None:
        return self.ask(partial(self._timeout.ask, name, question), DATABASE)

    def ask(self, question: Callable[[], Answer], of: str = KAFKA) -> Answer | None:
        try:
            return question()
        except VerdictError as error:
            if str(error) not in self.problems:  # several ask the same Kafka
                self.problems.append(Problem(str(error), of))
            self.unreachable |= isinstance(error, UnreachableError)
            self.lacks_kafka |= isinstance(error, UnreachableError) and of == KAFKA
            return None


def _with_kafka(
    asking: _StatusQuery, settings: Settings, log: KafkaLog, found: StatusReport, reads: bool
) -> StatusReport:
    seen = [(one, asking.ask(partial(decode_progress, log, one))) for one in queries_of(settings)]
    if asking.lacks_kafka:  # nor would it answer other questions
        return found
    known = [(query, progress) for query, progress in seen if progress is not None]
    (_, progress), kafka = seen[0], kafka_of(settings)  # the decider's
    asking.ask(partial(require_log_of, known, kafka))
    differences = asking.ask(partial(topic_differences, settings, progress), "") or ()
    asking.problems += topic_problems(differences)
    if reads:
        asking.ask_database("belonging", partial(require_same_read_side, settings, kafka))
    opened = asking.ask(partial(open_transactions, settings, log))
    found = replace(found, open_transactions=opened or ())
    if progress is not None:
        decided = asking.ask(partial(decider, progress, settings.topics, log))
        if decided is not None:
            found = replace(found, decider=decided[0], commands=decided[1])
    ran = [one for _, one in known if one is not progress]
    return replace(found, processors=asking.ask(partial(processors, ran, log)))


def _announced(settings: Settings, running: Mapping[Path, AnnouncedService]) -> Iterator[Problem]:
    for folder, service in running.items():
        yield from service_problems(service, silence_s(folder))
    for service in killed_roles(settings.data_dir):
        yield killed(service)
