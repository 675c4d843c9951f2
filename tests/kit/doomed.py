"""Processes that kill themselves at a step: `python -m tests.kit.doomed KIND ARGUMENTS`.

Each kind imports what it needs by itself: a process starts for each step.
"""

import os
import signal
import sys
import threading
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

from verdict.errors import VerdictError

BUG = "bug"  # instead of a step of a rebuild


def die_at(
    step: str, nth: int = 1, fatal: signal.Signals = signal.SIGKILL
) -> Callable[[Any], None]:
    """Return an observer that ends or stops this process each `nth` time it reaches a step."""
    reached = 0

    def observe(now: str) -> None:
        nonlocal reached
        if now == step:
            reached += 1
            if reached % nth == 0:
                # sent to this thread, so that it takes no further step: another thread of the
                # process might take the signal while this one commits
                signal.pthread_kill(threading.get_ident(), fatal)

    return observe


def up(step: str, nth: str, data_dir: str, fatal: str) -> None:
    """Run `verdict up`; SIGSTOP stops it at the step until it is continued."""
    from tests.application import APPLICATION
    from verdict.cli.up import serve
    from verdict.settings.load import load_settings

    settings = load_settings(APPLICATION, data_dir=Path(data_dir))
    serve(settings, die_at(step, int(nth), signal.Signals[fatal]))


def recover(step: str, data_dir: str) -> None:
    """Run `verdict recover`."""
    from tests.application import APPLICATION
    from verdict.cli.recover import recover_alone
    from verdict.settings.load import load_settings

    recover_alone(load_settings(APPLICATION, data_dir=Path(data_dir)), None, die_at(step))


def projection(verb: str, name: str, step: str) -> None:
    """Run `verdict projection VERB NAME`; with `BUG`, a later version ignores relistings."""
    from tests.application import APPLICATION
    from verdict.read_side import catalog
    from verdict.read_side.rebuild.rebuilder import Rebuilder
    from verdict.settings.load import load_settings

    if step == BUG:
        catalog.declared = partial(_with_bug, catalog.declared)
    getattr(Rebuilder(load_settings(APPLICATION), name, on_step=die_at(step)), verb)()


def _with_bug(declared: Callable[..., Any], application: Any, *chosen: Any) -> Any:
    from dataclasses import replace

    from projections.us_holder import evolve
    from schemas.position import PositionRelisted

    found = declared(application, *chosen)

    def evolve_with_bug(position: Any, recorded: Any) -> Any:
        ignored = isinstance(recorded.payload, PositionRelisted)
        return position if ignored else evolve(position, recorded)

    def at_version(version: int) -> Any:
        right = found["us_holder"](version)
        return right if version == 1 else replace(right, evolve=evolve_with_bug)

    return {**found, "us_holder": at_version}


def owner(servers: str, name: str, step: str) -> None:
    """Take over a fresh deployment, and publish batch 0."""
    from tests.exactly_once.deployment import Deployment

    deployment = Deployment(servers, name)
    publisher = deployment.claim(on_step=die_at(step))
    publisher.publish(deployment.batch(0), deployment.outputs(0))


def mail(url: str, smtp_url: str, step: str) -> None:
    """Send mails; die when one is `claimed`, or `delivered` and not recorded as sent."""
    from projections.outbound.weekly_mail.smtp import SmtpTransport
    from tests.mail.workers import Workers
    from verdict.projections import Outbox

    def die(*_: Any) -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    where = {"claimed": (SmtpTransport, "deliver"), "delivered": (Outbox, "record_sent")}
    setattr(*where[step], die)
    Workers(url, smtp_url).send("doomed")


KINDS: dict[str, Callable[..., None]] = {
    "up": up, "recover": recover, "projection": projection, "owner": owner, "mail": mail,
}  # fmt: skip

if __name__ == "__main__":
    try:
        KINDS[sys.argv[1]](*sys.argv[2:])
    except VerdictError as error:  # reported as `verdict` reports it
        sys.exit(f"verdict: {error}")
