"""The aggregates of a progress record, compared with those of the application.

An aggregate that has decided commands must stay in the application. Without it its commands get no
answer, and a state that is recovered without it begins at version 0 again.
"""

from verdict.errors import VerdictError
from verdict.wire.progress_record import ProgressRecord
from verdict.wire.topics import Topics


class MissingAggregateError(VerdictError):
    """Commands of an aggregate are decided, and the application has no such aggregate."""


def require_known_aggregates(progress: ProgressRecord, topics: Topics) -> None:
    """Raise MissingAggregateError if the application lacks an aggregate that has decided."""
    gone = [topic for topic in removed_aggregates(progress, topics) if any(progress.offsets[topic])]
    if gone:
        names = " and no ".join(map(topics.aggregate_of, gone))
        reached = ", ".join(f"{topic} up to {progress.offsets[topic]}" for topic in gone)
        raise MissingAggregateError(
            f"{topics.application.name} has no aggregate {names}, and its commands are decided "
            f"here ({reached}): without it they get no answers, and its aggregates would "
            "begin at version 0 again. Run the version of the application that has it; one that "
            "is not wanted any more stays listed, with rules that refuse. Another application "
            "needs topics and a data directory of its own (topic_prefix, data_dir)"
        )


def removed_aggregates(progress: ProgressRecord, topics: Topics) -> list[str]:
    """Return the commands topics in the progress record that belong to no aggregate, sorted."""
    return sorted(progress.offsets.keys() - {*topics.every_commands()})


def decided_aggregates(progress: ProgressRecord, topics: Topics) -> set[str]:
    """Return the application's aggregates of which commands are decided."""
    return {
        name
        for name in topics.application.aggregate_types
        if any(progress.offsets.get(topics.commands(name), ()))
    }
