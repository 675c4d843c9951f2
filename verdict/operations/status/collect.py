"""Asks everybody, and says what could not be asked."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from verdict.adapters.kafka.connection import kafka_of
from verdict.adapters.kafka.reader import KafkaLog
from verdict.adapters.kafka.topic_drift import MISSING, PARTITIONS, Difference
from verdict.errors import UnreachableError, VerdictError
from verdict.operations.status.log_ends import log_of
from verdict.operations.status.patience import Patience
from verdict.operations.status.problems import (
    NOTHING_RUNS,
    kafka_away,
    killed,
    not_running,
    problems_of,
    told_by,
)
from verdict.operations.status.read_side import views_of
from verdict.operations.status.status import DATABASE, KAFKA, Problem, StatusReport
from verdict.operations.status.topics import differences_to
from verdict.operations.status.write_side import decider, open_transactions, processors
from verdict.read_side.tables.same_topics import require_same_read_side
from verdict.service.directories import DECIDER
from verdict.service.known_progress import queries_of
from verdict.settings.discovery import (
    AnnouncedService,
    killed_roles,
    service_on,
    silence_s,
    starting_on,
)
from verdict.settings.settings import Settings
from verdict.streaming.exactly_once.log_identity import require_log_of
from verdict.streaming.exactly_once.query import Query
from verdict.streaming.exactly_once.read_progress import decode_progress
from verdict.wire.progress_record import ProgressRecord

Answer = TypeVar("Answer")


def get_status(settings: Settings, patience: Patience | None = None) -> StatusReport:
    """Return how far everything has come, and what is wrong; within seconds, whatever hangs.

    What does not answer is unknown and among the problems. Kafka is not asked when the service
    says that it is away.

    Args:
        settings: Of the deployment; where its Kafka and database are is what they say, or else the
            service that runs on their data directory.
        patience: With the database; whoever looks again and again keeps one, so that a database
            that hangs is asked once.

    Raises:
        VerdictError: The service's own announcement is damaged.
    """
    running = service_on(settings.data_dir)
    processes = tuple(running.values())
    away = [said for service in processes for said in kafka_away(service)][:1]
    asking = _StatusQuery(away, patience or Patience())
    decides = next((one for one in processes if DECIDER in one.roles or not one.roles), None)
    starting = None if processes else starting_on(settings.data_dir)
    found = StatusReport(decides, settings.data_dir, processes=processes, starting=starting)
    views = asking.ask_database("views", partial(views_of, settings))
    with ExitStack() as held:
        log = None if away else asking.ask(lambda: held.enter_context(log_of(settings)))
        if log is not None:
            found = _with_kafka(asking, settings, log, found, views is not None)
        if views is not None:
            reads = views.standing(log)
            found = replace(
                found,
                projections=reads.projections,
                quarantines=reads.quarantines,
                scattered=reads.scattered,
                dead_letters=reads.dead_letters,
                events=reads.events,
                answered=reads.answered,
                refused=reads.refused,
                policy_rejections=reads.policy_rejections,
                verified=reads.verified,
            )
    others = (*_told(settings, running), *asking.problems, *problems_of(found), *asking.notes)
    down = (*not_running(found),)
    problems = (*down, *(one for one in others if not (down and one.startswith(NOTHING_RUNS))))
    return replace(found, problems=problems, unreachable=asking.unreachable)


def _with_kafka(
    asking: "_StatusQuery", settings: Settings, log: KafkaLog, found: StatusReport, reads: bool
) -> StatusReport:
    decider_query, *others = queries = queries_of(settings)
    seen = {one: asking.ask(partial(decode_progress, log, one)) for one in queries}
    if asking.lacks_kafka:  # nor would it answer what else there is to ask
        return found
    progress_records = {query: progress for query, progress in seen.items() if progress is not None}
    progress = progress_records.get(decider_query)
    _look_at_topics(asking, settings, progress_records, progress)
    if reads:
        question = partial(require_same_read_side, settings, kafka_of(settings))
        asking.ask_database("belonging", question)
    opened = asking.ask(partial(open_transactions, settings, log)) or ()
    found = replace(found, open_transactions=opened)
    if progress is not None:
        decided = asking.ask(partial(decider, progress, settings.topics, log, opened))
        if decided is not None:
            found = replace(found, decider=decided.about, commands=decided.commands)
    beside = [progress_records[query] for query in others if query in progress_records]
    return replace(found, processors=asking.ask(partial(processors, beside, log)))


def _look_at_topics(
    asking: "_StatusQuery",
    settings: Settings,
    progress_records: Mapping[Query, ProgressRecord],
    of_decider: ProgressRecord | None,
) -> None:
    kafka = kafka_of(settings)
    asking.ask(partial(require_log_of, [*progress_records.items()], kafka))
    differences = asking.ask(partial(differences_to, settings, of_decider), "")
    asking.problems += _unlike(differences or ())
    asking.notes += _added(differences or ())


def _unlike(differences: Iterable[Difference]) -> Iterator[Problem]:
    """Say of topics that are there what is not as it must be; who is missing is created."""
    for one in differences:
        if not one.fatal and one.setting != PARTITIONS:
            yield Problem(str(one))
        elif one.fatal and one.setting != MISSING:
            yield Problem(
                f"{one}: Kafka may drop or refuse what must stay, and the next start is refused; "
                "mend it, see `verdict topics check`"
            )


def _added(differences: Iterable[Difference]) -> Iterator[Problem]:
    """Name in one sentence all topics to which somebody added partitions; that stops nothing."""
    added = [one for one in differences if not one.fatal and one.setting == PARTITIONS]
    if len(added) == 1:
        yield Problem(str(added[0]))
    elif added:
        named = ", ".join(f"{one.topic} ({one.found} instead of {one.wanted})" for one in added)
        yield Problem(
            f"somebody added partitions to {len(added)} topics: {named}: verdict writes to the "
            "first ones only, as before, and goes on; `verdict topics check` tells what is on the "
            "others; when you know who did it and why, note it with `verdict topics accept TOPIC "
            "--reason …`"
        )


class _StatusQuery:
    """Asks one after the other, and keeps what goes wrong."""

    def __init__(self, kafka_away: Iterable[Problem], patience: Patience) -> None:
        self.problems = [*kafka_away]
        self.notes: list[Problem] = []  # of what stops nothing
        self.unreachable = self.lacks_kafka = bool(self.problems)
        self._patience = patience

    def ask_database(self, name: str, question: Callable[[], Answer]) -> Answer | None:
        """Return what a question to the database is answered with; None: it is not."""
        return self.ask(partial(self._patience.ask, name, question), DATABASE)

    def ask(self, part: Callable[[], Answer], of: str = KAFKA) -> Answer | None:
        """Return what a part says that is known of Kafka, or the database; None: it cannot."""
        try:
            return part()
        except VerdictError as error:
            if str(error) not in self.problems:  # several ask the same Kafka
                self.problems.append(Problem(str(error), of))
            self.unreachable |= isinstance(error, UnreachableError)
            self.lacks_kafka |= isinstance(error, UnreachableError) and of == KAFKA
            return None


def _told(settings: Settings, running: Mapping[Path, AnnouncedService]) -> Iterator[Problem]:
    for folder, service in running.items():
        yield from told_by(service, silence_s(folder))
    for service in killed_roles(settings.data_dir):
        yield killed(service)
