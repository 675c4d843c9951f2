"""Asks everybody, and says what could not be asked."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import TypeVar

from verdict.configuration.found import Service, find_service, silent_s
from verdict.configuration.settings import Settings
from verdict.errors import Unreachable, VerdictError
from verdict.event_log.followed_log import refuse_another_read_side
from verdict.foundation.ensured_topics import refuse_another_log
from verdict.kafka.access import kafka_of
from verdict.standing.facts import Standing
from verdict.standing.problems import problems_of
from verdict.standing.queries import decider, processors
from verdict.standing.read_side import read_side
from verdict.standing.told import kafka_away, told_by

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
    service = find_service(settings.data_dir)
    away = [] if service is None else [*kafka_away(service)]
    asking = _Asking(settings, away)
    found = Standing(service, settings.data_dir)
    if not away:
        found = _with_kafka(asking, found)
    if (reads := asking.ask(read_side)) is not None:
        found = replace(
            found,
            projections=reads.projections,
            scattered=reads.scattered,
            letters=reads.letters,
        )
    problems = (*asking.problems, *_told(settings, service), *problems_of(found))
    return replace(found, problems=problems, unreachable=asking.unreachable)


def _with_kafka(asking: "_Asking", found: Standing) -> Standing:
    asking.ask(_markers_of_this_log)
    if asking.unreachable:  # nor would it answer what else there is to ask
        return found
    asking.ask(_read_side_of_this_log)
    if (decided := asking.ask(decider)) is not None:
        found = replace(found, decider=decided.about, commands=decided.commands)
    return replace(found, processors=asking.ask(processors))


class _Asking:
    """Asks one after the other, and keeps what goes wrong."""

    def __init__(self, settings: Settings, kafka_away: Iterable[str]) -> None:
        self._settings = settings
        self.problems = [*kafka_away]
        self.unreachable = bool(self.problems)

    def ask(self, part: Callable[[Settings], Answer]) -> Answer | None:
        """Return what a part says; None when it cannot."""
        try:
            return part(self._settings)
        except VerdictError as error:
            if str(error) not in self.problems:  # several ask the same Kafka
                self.problems.append(str(error))
            self.unreachable |= isinstance(error, Unreachable)
            return None


def _told(settings: Settings, service: Service | None) -> Iterable[str]:
    return () if service is None else told_by(service, silent_s(settings.data_dir))


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
