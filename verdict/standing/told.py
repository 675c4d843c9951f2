"""What is wrong with a service by its own words, or by its silence."""

import time
from collections.abc import Iterator

from verdict.configuration.found import Service
from verdict.foundation.place import DECIDER
from verdict.kafka.reach import clock_time
from verdict.standing.facts import KAFKA, Problem

SILENT_S = 60.0  # a sign of life comes every few seconds, unless a start of a part takes its time


def kafka_away(service: Service) -> Iterator[Problem]:
    """Say since when the service waits for Kafka, if it does."""
    if (since := service.kafka_away_since) is not None:
        yield Problem(
            f"Kafka is away since {clock_time(since)}, for {time.time() - since:.0f} s: what is "
            "sent waits, nothing is lost, and the service goes on when it is back",
            KAFKA,
        )


def killed(service: Service) -> Problem:
    """Say that a role that ran by itself does so no more, and nobody has stopped it."""
    role = " ".join(service.roles)
    return Problem(
        f"the role {role}, pid {service.pid}, has ended without a last word (kill -9, want of "
        f"memory): start `verdict run {role}` again"
    )


def told_by(service: Service, silent_s: float) -> Iterator[Problem]:
    """Say what is stopped, and what does not end.

    Args:
        service: As it has announced itself.
        silent_s: For so many seconds it has given no sign of life.
    """
    if silent_s > SILENT_S:
        yield Problem(
            f"the service, pid {service.pid}, has given no sign of life for {silent_s:.0f} s: "
            "something has stopped it (SIGSTOP, a debugger), or it hangs; stop it and start again",
            DECIDER if DECIDER in service.roles or not service.roles else "",
        )
    for name, why in service.stopped.items():
        yield Problem(f"the {name} stopped: {why}", name)
    for query, batch in service.overdue.items():
        yield Problem(
            f"batch {batch.batch_id} of {query} has been under way since "
            f"{clock_time(batch.since)}, for {time.time() - batch.since:.0f} s, and has not ended: "
            "see what its Python workers and Spark do",
            query,
        )
