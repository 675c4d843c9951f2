"""`verdict up` whose rules for orders have a bug until a file says that it is mended.

`python -m tests.letters.ailing`; the file is `mended` in the data directory. Spark's workers import
this module to make the shard's state, and so get the bug.
"""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

from verdict.cli.up import serve
from verdict.configuration.loading import load_settings
from verdict.decider import running as deciding
from verdict.model.decider import Decider, decider_of
from verdict.operator import batch
from verdict.operator.log_structured import LogStructuredState
from verdict.operator.shard_state import ShardState

MENDED = "mended"


def ailing(handle: StatefulProcessorHandle, folder: Path) -> ShardState:
    """Return the state of a shard in `folder` of the data directory; orders are decided badly."""
    setattr(batch, "decider_of", deciders(folder.parent / MENDED))  # noqa: B010 (typed otherwise)
    return LogStructuredState(handle, folder=folder)


def deciders(mended: Path) -> Callable[[str], Decider[Any]]:
    """Return the rules by name, as they are now."""

    def found(name: str) -> Decider[Any]:
        sound = decider_of(name)
        if name != "order" or mended.exists():
            return sound

        def decide(state: Any, command: Any) -> list[Any]:
            raise ZeroDivisionError("planted")

        return replace(sound, decide=decide)

    return found


if __name__ == "__main__":
    from tests.letters.ailing import ailing as by_name  # this module is __main__ here only

    setattr(deciding, "LogStructuredState", by_name)  # noqa: B010
    serve(load_settings())
