"""Asks everybody, and says what could not be asked."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import TypeVar

from verdict.configuration.found import Service, killed_on, running_on, silent_s
from verdict.configuration.settings import Settings
from verdict.errors import Unreachable, VerdictError
from verdict.event_log.followed_log import refuse_another_read_side
from verdict.foundation.ensured_topics import refuse_another_log
from verdict.foundation.place import DECIDER
from verdict.kafka.access import kafka_of
from verdict.kafka.topic_differences import MISSING, Difference
from verdict.standing.facts import DATABASE, KAFKA, Problem, Standing
from verdict.standing.problems import problems_of
from verdict.standing.queries import decider, processors
from verdict.standing.read_side import read_side
from verdict.standing.told import kafka_away, killed, told_by
from verdict.standing.topics import topic_differences

Answer = TypeVar("Answer")


def standing_of(settings: Settings) -> Standing:
    """Return how far everything has come, and what is wrong.

    Whoever cannot be asked is unknown and among the problems. Kafka is not asked when the service
    says that it is away.

    Args:
        settings: Of the deployment; where its Kafka and database are is what they say, or else the
            service that runs on their data directory.

    Raises:
        VerdictError: The service's own announcement is damaged.
    """
    running = running_on(settings.data_dir)
    processes = tuple(running.values())
    away = [said for service in processes for said in kafka_away(service)][:1]
    asking = _Asking(settings, away)
    decides = next((one for one in processes if DECIDER in one.roles or not one.roles), None)
    found = Standing(decides, settings.data_dir, processes=processes)
    if not away:
        found = _with_kafka(asking, found)
    if (reads := asking.ask(read_side, DATABASE)) is not None:
        found = replace(
            found,
            projections=reads.projections,
            scattered=reads.scattered,
            letters=reads.letters,
            events=reads.events,
            answered=reads.answered,
        )
    problems = (*asking.problems, *_told(settings, running), *problems_of(found))
    return replace(found, problems=problems, unreachable=asking.unreachable)


def _with_kafka(asking: "_Asking", found: Standing) -> Standing:
    asking.ask(_markers_of_this_log)
    if asking.unreachable:  # nor would it answer what else there is to ask
        return found
    asking.ask(_read_side_of_this_log, DATABASE)
    asking.problems += _unlike(asking.ask(topic_differences, "") or ())
    if (decided := asking.ask(decider)) is not None:
        found = replace(found, decider=decided.about, commands=decided.commands)
    return replace(found, processors=asking.ask(processors))


def _unlike(differences: Iterable[Difference]) -> Iterator[Problem]:
    """Say of topics that are there what is not as it must be; who is missing is created."""
    for one in differences:
        if one.setting != MISSING:
            yield Problem(
                f"{one}: Kafka may drop or refuse what must stay, and the next start is refused; "
                "mend it, see `verdict topics check`"
            )


class _Asking:
    """Asks one after the other, and keeps what goes wrong."""

    def __init__(self, settings: Settings, kafka_away: Iterable[Problem]) -> None:
        self._settings = settings
        self.problems = [*kafka_away]
        self.unreachable = bool(self.problems)

    def ask(self, part: Callable[[Settings], Answer], of: str = KAFKA) -> Answer | None:
        """Return what a part says that is known of Kafka, or the database; None: it cannot."""
        try:
            return part(self._settings)
        except VerdictError as error:
            if str(error) not in self.problems:  # several ask the same Kafka
                self.problems.append(Problem(str(error), of))
            self.unreachable |= isinstance(error, Unreachable)
            return None


def _told(settings: Settings, running: Mapping[Path, Service]) -> Iterator[Problem]:
    for folder, service in running.items():
        yield from told_by(service, silent_s(folder))
    for service in killed_on(settings.data_dir):
        yield killed(service)


def _markers_of_this_log(settings: Settings) -> None:
    """Return when the markers are of the topics that there are.

    Raises:
        AnotherLog: They are not.
        Unreachable: Kafka does not answer.
    """
    refuse_another_log(settings, kafka_of(settings))


def _read_side_of_this_log(settings: Settings) -> None:
    """Return when the read side is of the topics that there are.

    Raises:
        AnotherLog: It is not.
        Unreachable: Kafka or the database does not answer.
    """
    refuse_another_read_side(settings, kafka_of(settings))
