"""`verdict up` whose rules for orders have a bug until a file says that it is mended.

`python -m tests.letters.ailing`; the file is `mended` in the data directory. Spark's workers import
this module to make the shard's state, and so get the bug.
"""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

from verdict.application import Application, current, using
from verdict.cli.up import serve
from verdict.configuration.loading import load_settings
from verdict.decider import running as deciding
from verdict.operator.log_structured import LogStructuredState
from verdict.operator.shard_state import ShardState

MENDED = "mended"
USED = ExitStack()  # for as long as the worker lives


def ailing(handle: StatefulProcessorHandle, folder: Path) -> ShardState:
    """Return the state of a shard in `folder` of the data directory; orders are decided badly."""
    USED.enter_context(using(with_bug(current(), folder.parent / MENDED)))
    return LogStructuredState(handle, folder=folder)


def with_bug(application: Application, mended: Path) -> Application:
    """Return the application with rules for orders that fail until `mended` is there."""
    sound = application.aggregate("order")

    def decide(state: Any, command: Any) -> list[Any]:
        if mended.exists():
            return sound.decide(state, command)
        raise ZeroDivisionError("planted")

    others = (one for one in application.aggregates if one is not sound)
    return replace(application, aggregates=(replace(sound, decide=decide), *others))


if __name__ == "__main__":
    from tests.letters.ailing import ailing as by_name  # this module is __main__ here only

    setattr(deciding, "LogStructuredState", by_name)  # noqa: B010
    serve(load_settings())
