"""Workers that run, die and run again in any order; a model of the leases is the oracle."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.outbox.database import BATCH, LEASE_MS, OutboxDatabase
from tests.tiers import examples
from verdict.projections import DeliveryDeferredError, OutboxMessage

KEYS = tuple("abcdef")
KILLED, ACCEPTED, BUSY = "killed", "killed after the message was accepted", "refused for now"


class Run(NamedTuple):
    """A worker's run: so many milliseconds after the last, with a fate at one of its messages."""

    after: int
    fate: str
    at_message: int


class Killed(BaseException):
    """The process is gone: nothing of it runs any more, as after SIGKILL."""


class Model:
    """Accepts messages as a transport does, and checks that each may come now."""

    def __init__(self, database: OutboxDatabase) -> None:
        self.database = database
        self.arrived = Counter[str]()
        self.doubled = Counter[str]()
        self._leased_to_dead = dict.fromkeys(KEYS, database.now)  # until then
        self._run = Run(0, "", 0)
        self._messages = 0

    def begin(self, run: Run) -> None:
        """Start a worker."""
        self.database.now += run.after
        self._run, self._messages = run, 0

    def deliver(self, message: OutboxMessage) -> None:
        """Accept a message of the worker that was started last."""
        assert self.database.now >= self._leased_to_dead[message.key]
        self._messages += 1
        if self._messages == self._run.at_message:
            self._meet_fate(message.key)
        self.arrived[message.key] += 1

    def _meet_fate(self, key: str) -> None:
        fate = self._run.fate
        if fate == ACCEPTED:
            self.arrived[key] += 1
            self.doubled[key] += 1
        if fate in (KILLED, ACCEPTED):
            self._leased_to_dead[key] = self.database.now + LEASE_MS
            raise Killed
        if fate == BUSY:
            raise DeliveryDeferredError("451 busy")


runs = st.builds(
    Run,
    after=st.sampled_from([0, 1, LEASE_MS // 2, LEASE_MS - 1, LEASE_MS]),
    fate=st.sampled_from(["", KILLED, ACCEPTED, BUSY]),
    at_message=st.integers(1, 3),
)


@pytest.mark.proves("H-10")
@pytest.mark.slow
@settings(max_examples=examples(40))
@given(st.lists(runs, max_size=8))
def test_each_message_arrives_once_and_once_more_per_death_after_it_was_accepted(
    lives: Sequence[Run],
) -> None:
    """H-10: no worker sends what another one has."""
    with TemporaryDirectory() as folder:
        database = OutboxDatabase(f"sqlite:///{Path(folder) / 'outbox.db'}")
        database.record(*KEYS)
        model = Model(database)
        for number, run in enumerate([*lives, Run(LEASE_MS, "", 0)]):
            model.begin(run)
            with suppress(Killed):
                database.process(f"w{number}").send(BATCH, model.deliver)
        statuses = {status for (status,) in database.rows("status")}
        database.close()

    assert model.arrived == Counter(KEYS) + model.doubled
    assert statuses == {"SENT"}
