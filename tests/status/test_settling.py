"""When everybody has come as far as there is to go."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tests.application import APPLICATION
from verdict.errors import TimedOutError
from verdict.operations.status import collect
from verdict.operations.status.collect import wait_until_idle
from verdict.operations.status.status import (
    CommandsStatus,
    DeadLettersStatus,
    Problem,
    ProcessorStatus,
    ProjectionStatus,
    StatusReport,
)
from verdict.settings.load import load_settings


def commands(end: int, lag: int) -> CommandsStatus:
    return CommandsStatus("order.commands", 0, end - lag, end, lag)


def projection(lag: int | None, state: str = "live") -> ProjectionStatus:
    return ProjectionStatus("outcome", 1, state, lag, None, (), ())


QUIET = StatusReport(
    service=None,
    data_dir=Path("/data"),
    commands=(commands(7, 0),),
    processors=(ProcessorStatus("lake", 1, "me", 0),),
    projections=(projection(0), projection(9, "candidate")),
    dead_letters=DeadLettersStatus(3, 1, 0),
)


def test_the_lag_is_of_all_together_and_unknown_when_one_is() -> None:
    busy = replace(QUIET, commands=(commands(7, 2),), projections=(projection(3),))

    assert QUIET.lag == 0
    assert busy.lag == 5
    assert replace(QUIET, projections=(projection(None),)).lag is None
    assert replace(QUIET, dead_letters=None).lag is None
    assert replace(QUIET, commands=None).lag is None


@pytest.fixture
def seen(monkeypatch: pytest.MonkeyPatch) -> list[StatusReport]:
    """Return what is seen, one look after the other; the last one again and again."""
    found: list[StatusReport] = []

    def looks() -> Iterator[StatusReport]:
        yield from found
        while True:
            yield found[-1]

    every = looks()
    monkeypatch.setattr(collect, "get_status", lambda _: next(every))
    monkeypatch.setattr(collect, "PAUSE_S", 0)
    return found


def test_it_takes_two_looks_with_nothing_left_and_nothing_new(seen: list[StatusReport]) -> None:
    busy, earlier = commands(7, 2), commands(6, 0)
    unknown = replace(QUIET, dead_letters=None)
    seen += [replace(QUIET, commands=(busy,)), replace(QUIET, commands=(earlier,)), unknown, QUIET]

    looks = wait_until_idle(load_settings(APPLICATION))

    assert [look.lag for look in looks] == [2, 0, None, 0, 0]


def test_when_nothing_moves_any_more_the_stopped_components_are_named(
    seen: list[StatusReport],
) -> None:
    seen += [replace(QUIET, commands=(commands(7, 2),), problems=(Problem("the decider stopped"),))]

    with pytest.raises(TimedOutError) as raised:
        list(wait_until_idle(load_settings(APPLICATION), patience_s=0))

    assert str(raised.value) == ("nothing moved for 0 s, 2 records behind; the decider stopped")
