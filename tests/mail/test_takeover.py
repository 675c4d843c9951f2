"""Workers that come, die and come again in any order: a model of the leases is the oracle."""

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from email.message import EmailMessage
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from projections.outbound.weekly_mail import write
from tests.mail.desk import ALL, LEASE_MS, SENDER, TO, WEEK, Desk, clients_of
from tests.tiers import examples
from verdict.mail.courier import Deferred
from verdict.mail.share import Share, bucket_of
from verdict.mail.worker import Worker

CLIENTS = clients_of(ALL, 6)
KILLED, ANSWERED, BUSY = "killed", "killed after the answer", "refused for now"


class Run(NamedTuple):
    """A worker's run: it comes so many milliseconds after the last, and something befalls it."""

    after: int
    share: Share
    fate: str
    at_mail: int


class Killed(BaseException):
    """The process is gone: nothing of it runs any more, as after SIGKILL."""


class Model:
    """Takes mails as a server does, lets fates befall, and holds that each mail may come now."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self.comes = Counter[str]()
        self.doubled = Counter[str]()
        self._reserved = dict.fromkeys(CLIENTS, desk.now + LEASE_MS)  # for the share's own worker
        self._dead = dict.fromkeys(CLIENTS, desk.now)  # until then it is a dead one's
        self.run = Run(0, ALL, "", 0)
        self._mails = 0

    def begin(self, run: Run) -> None:
        """Let a worker come."""
        self.desk.now += run.after
        self.run, self._mails = run, 0

    def deliver(self, message: EmailMessage) -> None:
        """Take a mail of the worker that came last."""
        client = str(message["To"]).partition("@")[0]
        now, own = self.desk.now, self.run.share.has(bucket_of(client))
        assert now >= (self._dead if own else self._reserved)[client]
        self._mails += 1
        if self._mails == self.run.at_mail:
            self._befall(client)
        self.comes[client] += 1

    def _befall(self, client: str) -> None:
        fate, until = self.run.fate, self.desk.now + LEASE_MS
        if fate:
            self._reserved[client] = until
        if fate == ANSWERED:
            self.comes[client] += 1
            self.doubled[client] += 1
        if fate in (KILLED, ANSWERED):
            self._dead[client] = until
            raise Killed
        if fate == BUSY:
            raise Deferred("451 busy")


shares = st.integers(1, 3).flatmap(lambda of: st.builds(Share, st.integers(1, of), st.just(of)))
runs = st.builds(
    Run,
    after=st.sampled_from([0, 1, LEASE_MS // 2, LEASE_MS - 1, LEASE_MS]),
    share=shares,
    fate=st.sampled_from(["", KILLED, ANSWERED, BUSY]),
    at_mail=st.integers(1, 3),
)


@pytest.mark.proves("H-10")
@pytest.mark.slow
@settings(max_examples=examples(40))
@given(st.lists(runs, max_size=8))
def test_every_mail_comes_once_or_once_more_for_each_death_behind_the_answer(
    lives: Sequence[Run],
) -> None:
    """H-10, and nobody sends what is somebody else's then."""
    with TemporaryDirectory() as folder:
        desk = Desk(f"sqlite:///{Path(folder) / 'outbox.db'}", "")
        desk.record(*CLIENTS)
        model = Model(desk)
        for number, run in enumerate([*lives, Run(LEASE_MS, Share(1, 2), "", 0)]):
            model.begin(run)
            live(desk, model, f"w{number}")
        statuses = {status for (status,) in desk.rows("status")}
        desk.close()

    assert model.comes == Counter(CLIENTS) + model.doubled
    assert statuses == {"SENT"}


def live(desk: Desk, model: Model, name: str) -> None:
    """Let a worker run until its end."""
    leases = desk.leases(name)
    with suppress(Killed):
        Worker(WEEK, model.run.share, leases, model, SENDER, TO, write, lambda: desk.now).run()
