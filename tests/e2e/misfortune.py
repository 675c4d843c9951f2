"""`verdict projection` with a misfortune: `python -m tests.e2e.misfortune VERB NAME MISFORTUNE`.

A step of `verdict.read_side.rebuild`, at which the process kills itself; or `bug`: the
projection that is built takes no notice of relistings.
"""

import os
import signal
import sys
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from projections.us_holder import Position, evolve, us_holder
from schemas.position import PositionRelisted
from tests.application import APPLICATION
from verdict.errors import VerdictError
from verdict.model.application import Application
from verdict.model.recorded_event import RecordedEvent
from verdict.read_side import catalog
from verdict.read_side.catalog import AtVersion, declared
from verdict.read_side.projections.kind_tables import compile_projection
from verdict.read_side.projections.projection import Projection
from verdict.read_side.rebuild.rebuilder import Rebuilder
from verdict.settings.load import load_settings

BUG = "bug"


def deaf(position: Position | None, recorded: RecordedEvent[Any]) -> Position | None:
    """Return the position after an event, where it was listed before."""
    return (
        position if isinstance(recorded.payload, PositionRelisted) else evolve(position, recorded)
    )


def buggy(exchanges: Collection[str], version: int) -> Projection:
    """Return the first version as it is, and later ones with the bug."""
    right = compile_projection(us_holder, version, us_exchanges=exchanges)
    return right if version == 1 else replace(right, evolve=deaf)


def planted(application: Application, chosen: Mapping[str, Any]) -> Mapping[str, AtVersion]:
    """Return the read models with the bug."""
    return {**declared(application, chosen), "us_holder": partial(buggy, chosen["us_exchanges"])}


def main() -> None:
    """Do it."""
    verb, name, misfortune = sys.argv[1:]

    def die(step: str) -> None:
        if step == misfortune:
            os.kill(os.getpid(), signal.SIGKILL)

    if misfortune == BUG:
        catalog.declared = planted  # type: ignore[assignment]
    try:
        getattr(Rebuilder(load_settings(APPLICATION), name, on_step=die), verb)()
    except VerdictError as error:
        sys.exit(f"verdict: {error}")


if __name__ == "__main__":
    main()
