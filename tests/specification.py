"""Given a history, when a command comes, then these events, or this refusal."""

from dataclasses import dataclass, replace
from functools import reduce
from typing import Any, Generic

import pytest

from verdict.model.command import Command
from verdict.model.decider import Decider, State
from verdict.model.life_cycle import LifeCycle
from verdict.model.message import Event
from verdict.model.refused import Refused


@dataclass(frozen=True)
class Specification(Generic[State]):
    """One example of a rule; every step returns a new one, so a beginning can be shared."""

    decider: Decider[State]
    history: tuple[Event, ...] = ()
    command: Command | None = None

    def given(self, *events: Event) -> "Specification[State]":
        """Let these events have happened, after those that already did."""
        return replace(self, history=self.history + events)

    def when(self, command: Command) -> "Specification[State]":
        """Ask for something that may start from where the history ends."""
        return replace(self, command=command)

    def then(self, *events: Event) -> "Specification[State]":
        """Expect exactly these events; the result has them in its history."""
        assert list(events) == self._decide()
        return replace(self, history=self.history + events, command=None)

    def then_nothing_happens(self) -> None:
        """Expect that the command is accepted and changes nothing."""
        assert self._decide() == []

    def then_refused(self, code: str, *, because: str, **numbers: int | str) -> None:
        """Expect a refusal with this code, exactly this message and these numbers."""
        with pytest.raises(Refused) as refusal:
            self._decide()
        assert because == refusal.value.message
        assert (refusal.value.code, refusal.value.numbers) == (code, numbers)

    def then_state(self, **fields: Any) -> None:
        """Expect these values in the state at the end of the history."""
        state = self._state()
        assert state is not None
        assert fields == {name: getattr(state, name) for name in fields}

    def then_deleted(self) -> None:
        """Expect that nothing but the version is left."""
        assert self._state() is None

    def _state(self) -> State | None:
        beginning: State | None = None
        return reduce(self.decider.evolve, self.history, beginning)

    def _decide(self) -> list[Event]:
        assert self.command is not None, "say when(...) first"
        state = self._state()
        absent = LifeCycle.DELETED if self.history else LifeCycle.NONE
        life_cycle = absent if state is None else LifeCycle.ACTIVE
        assert life_cycle in self.command.starts_from, f"{life_cycle} is for `handle` to refuse"
        return self.decider.decide(state, self.command)
