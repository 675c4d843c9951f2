"""A long campaign of kills and faults: `python -m tests.e2e.chaos --kills 20 --seed 1`.

What is done to the service, in which order, after how long, and the commands that are sent all
come from the seed, so a failing campaign is run again with it. What the seed does not fix is the
machine's: which message meets which misfortune, how commands are cut into batches, and so the
offsets and times that Kafka gives them.
"""

import argparse
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random
from typing import NamedTuple

from tests.kit.faults import (
    FILE_SIZE,
    last_words,
    paused,
    runner_process,
    settle,
    spark_jvm,
    starve,
)
from tests.kit.service import Deployment, Process, await_ready
from tests.postgresql import server
from verdict.adapters.local.broker import EmbeddedBroker
from verdict.streaming.exactly_once.failpoints import Failpoint

FATAL = (
    Failpoint.CLAIMED,
    Failpoint.OUTPUT_COMPUTED,
    Failpoint.TRANSACTION_OPEN,
    Failpoint.BEFORE_COMMIT,
    Failpoint.COMMITTED,
)
UP_TO_S = 12.0  # after the service is ready
AWAY_S = 8.0  # how long a broker is away at most


class Campaign(NamedTuple):
    """A deployment on a broker of its own."""

    broker: EmbeddedBroker
    deployment: Deployment


Misfortune = Callable[[Campaign, Process, float], str]
"""Does something to a service that runs, for so many seconds; returns what came of it."""


def killed(campaign: Campaign, service: Process, seconds: float) -> str:
    """Kill the service at random; return where it was in its batch."""
    service.kill()
    service.wait()
    return campaign.deployment.crash_table_row() or "no batch open"


def both_killed(campaign: Campaign, service: Process, seconds: float) -> str:
    campaign.broker.kill()
    service.kill()
    campaign.broker.start()
    return killed(campaign, service, seconds)


def copy_lost(campaign: Campaign, service: Process, seconds: float) -> str:
    """Kill the service, and delete the local copy of the state."""
    row = killed(campaign, service, seconds)
    for copy in (campaign.deployment.data_dir / "state").rglob("data.mdb"):
        copy.unlink()
    return row


def copy_garbled(campaign: Campaign, service: Process, seconds: float) -> str:
    row = killed(campaign, service, seconds)
    for copy in (campaign.deployment.data_dir / "state").rglob("data.mdb"):
        copy.write_bytes(b"\xff" * copy.stat().st_size)
    return row


def broker_stopped(campaign: Campaign, service: Process, seconds: float) -> str:
    campaign.broker.stop()
    return _broker_back(campaign, service, seconds)


def broker_killed(campaign: Campaign, service: Process, seconds: float) -> str:
    campaign.broker.kill()
    return _broker_back(campaign, service, seconds)


def _broker_back(campaign: Campaign, service: Process, seconds: float) -> str:
    time.sleep(seconds)
    campaign.broker.start()
    settle(campaign.deployment, service)
    return "it went on"


def broker_paused(campaign: Campaign, service: Process, seconds: float) -> str:
    with paused(campaign.broker):
        time.sleep(seconds)
    settle(campaign.deployment, service)
    return "it went on"


def projections_killed(campaign: Campaign, service: Process, seconds: float) -> str:
    runner_process(service.pid).kill()
    settle(campaign.deployment, service)
    return "it went on"


def jvm_killed(campaign: Campaign, service: Process, seconds: float) -> str:
    spark_jvm(service.pid).kill()
    return _stopped(campaign.deployment, service, "the JVM of Spark ended with -9")


def disk_full(campaign: Campaign, service: Process, seconds: float) -> str:
    starve(service, FILE_SIZE, 0)
    return _stopped(campaign.deployment, service, "could not be written to")


def _stopped(deployment: Deployment, service: Process, why: str) -> str:
    """Wait for the end, start again at once as a supervisor does, and say what it took."""
    said = last_words(deployment, service)
    assert why in said, said
    before, started = deployment.outcomes(), time.monotonic()
    with deployment.running():
        deployment.await_outcomes(before + 1)
    return f"it stopped and said so, {time.monotonic() - started:.1f} s to the next outcome"


# kills are what happens most; every kind comes up in a campaign of a few dozen
WEIGHTS: dict[Misfortune | None, int] = {
    None: 6,  # the service kills itself at a step
    killed: 4,
    both_killed: 1,
    copy_lost: 1,
    copy_garbled: 1,
    broker_stopped: 1,
    broker_killed: 1,
    broker_paused: 1,
    projections_killed: 1,
    jvm_killed: 1,
    disk_full: 1,
}


def befall(campaign: Campaign, random: Random) -> tuple[str, str]:
    """Start the service and let it meet a misfortune; return which, and what came of it."""
    [misfortune], step = random.choices([*WEIGHTS], [*WEIGHTS.values()]), random.choice(FATAL)
    nth = 1 if step is Failpoint.CLAIMED else random.randint(1, 12)
    after_s, away_s = random.uniform(0, UP_TO_S), random.uniform(0, AWAY_S)
    if misfortune is None:
        with campaign.deployment.start((step, nth)) as doomed:
            assert doomed.wait() == -9
        return "killed at a step", f"{step}, time {nth}"
    with campaign.deployment.start() as service:
        try:
            await_ready(service)
            time.sleep(after_s)
            assert service.poll() is None, "the service ended before anything was done to it"
            return misfortune.__name__, misfortune(campaign, service, away_s)
        finally:
            service.kill()


def run(campaign: Campaign, seed: int, count: int) -> Counter[str]:
    """Let everything happen under traffic, then have quiet; return how often each kind came."""
    came, random = Counter[str](), Random(seed)
    with campaign.deployment.traffic(seed):
        for number in range(1, count + 1):
            kind, became = befall(campaign, random)
            print(f"{number} of {count}: {kind}: {became}", flush=True)
            came[kind] += 1
    with campaign.deployment.running():
        campaign.deployment.await_quiet()
    return came


@contextmanager
def read_side(postgresql: bool) -> Iterator[str | None]:
    """Give the URL of a database on a server of its own; None: SQLite in the data directory."""
    if not postgresql:
        yield None
        return
    with server() as running, running.database() as url:
        yield url


def main() -> int:
    """Run a campaign, then a quiet phase, then hold everything against the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--postgresql", action="store_true")
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="verdict-chaos-") as folder,
        EmbeddedBroker(Path(folder) / "broker") as broker,
        read_side(options.postgresql) as url,
    ):
        deployment = Deployment(broker.bootstrap_servers, "chaos", Path(folder) / "d", url)
        violations = ""
        try:
            came = run(Campaign(broker, deployment), options.seed, options.kills)
            print(f"{dict(came)}, seed {options.seed}, {len(deployment.commands())} commands")
            deployment.assert_as_the_model_says()
        except Exception:  # a campaign that cannot go on is a violation, too
            violations = traceback.format_exc()
            print((Path(folder) / "stderr").read_text()[-4000:])
    again = f"; again: make chaos KILLS={options.kills} SEED={options.seed}" if violations else ""
    print(f"violations: {violations or 'none'}{again}")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
