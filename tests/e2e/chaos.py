"""A long campaign of kills and faults: `python -m tests.e2e.chaos --kills 20 --seed 1`.

What is done to the service, in which order, after how long, and the commands that are sent all
come from the seed, so a failing campaign is run again with it. What the seed does not fix is the
machine's: which message meets which misfortune, how commands are cut into batches, and so the
offsets and times that Kafka gives them.
"""

import argparse
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from random import Random

from tests.e2e.plan import Kind, Misfortune, plan
from tests.kit.faults import (
    FILE_SIZE,
    last_words,
    paused,
    runner_process,
    settle,
    spark_jvm,
    starve,
)
from tests.kit.service import Deployment, await_ready
from tests.postgresql import server
from verdict.adapters.local.broker import EmbeddedBroker

Service = subprocess.Popen[str]


class Campaign:
    """A deployment on a broker of its own, and what has been done to the two."""

    def __init__(self, broker: EmbeddedBroker, deployment: Deployment) -> None:
        self._broker = broker
        self._deployment = deployment

    def befall(self, what: Misfortune) -> str:
        """Start the service, let it meet a misfortune, and return what came of it."""
        if what.kind is Kind.KILL_AT_STEP:
            with self._deployment.start((what.step, what.nth)) as doomed:
                assert doomed.wait() == -9
            return f"at {what.step}"
        with self._deployment.start() as service:
            try:
                await_ready(service)
                time.sleep(what.after_s)
                assert service.poll() is None, "the service ended before anything was done to it"
                return self._hit(what, service)
            finally:
                service.kill()

    def _hit(self, what: Misfortune, service: Service) -> str:
        match what.kind:
            case Kind.BROKER_STOPPED | Kind.BROKER_KILLED:
                end = self._broker.stop if what.kind is Kind.BROKER_STOPPED else self._broker.kill
                end()
                time.sleep(what.away_s)
                self._broker.start()
                settle(self._deployment, service)
                return "it went on"
            case Kind.BROKER_PAUSED:
                with paused(self._broker):
                    time.sleep(what.away_s)
                settle(self._deployment, service)
                return "it went on"
            case Kind.PROJECTIONS_KILLED:
                runner_process(service.pid).kill()
                settle(self._deployment, service)
                return "it went on"
            case Kind.JVM_KILLED:
                spark_jvm(service.pid).kill()
                return self._death(service, "the JVM of Spark ended with -9")
            case Kind.DISK_FULL:
                starve(service, FILE_SIZE, 0)
                return self._death(service, "could not be written to")
            case _:
                return self._kill(what.kind, service)

    def _death(self, service: Service, why: str) -> str:
        """Wait for the end, start again at once as a supervisor does, and print what both took."""
        died = time.monotonic()
        said = last_words(self._deployment, service)
        assert why in said, said
        ended = time.monotonic()
        before = self._deployment.outcomes()
        started = time.monotonic()
        with self._deployment.running():
            ready = time.monotonic()
            self._deployment.await_outcomes(before + 1)
            going = time.monotonic()
        print(
            f"[{ended - died:.1f} s to its end, {ready - started:.1f} s from the start to ready, "
            f"{going - ready:.1f} s to the next outcome]",
            end=" ",
        )
        return "it stopped and said so"

    def _kill(self, kind: Kind, service: Service) -> str:
        if kind is Kind.BOTH_KILLED:
            self._broker.kill()
        service.kill()
        service.wait()
        if kind is Kind.BOTH_KILLED:
            self._broker.start()
        row = self._deployment.crash_table_row() or "no batch open"
        for copy in (self._deployment.data_dir / "state").rglob("data.mdb"):
            if kind is Kind.COPY_LOST:
                copy.unlink()
            if kind is Kind.COPY_GARBLED:
                copy.write_bytes(b"\xff" * copy.stat().st_size)
        return row


def run(campaign: Campaign, deployment: Deployment, seed: int, count: int) -> Counter[str]:
    """Let everything happen under traffic, then have quiet; return what came of each kind."""
    came: Counter[str] = Counter()
    with deployment.traffic(seed):
        for number, what in enumerate(plan(Random(seed), count), start=1):
            print(f"{number} of {count}: {what} …", end=" ", flush=True)
            became = campaign.befall(what)
            print(became, flush=True)
            came[f"{what.kind} ({became})"] += 1
    with deployment.running():
        deployment.await_quiet()
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
            came = run(Campaign(broker, deployment), deployment, options.seed, options.kills)
            for became, count in sorted(came.items()):
                print(f"{count:4} times: {became}")
            print(f"seed {options.seed}, {len(deployment.commands())} commands")
            deployment.assert_as_the_model_says()
        except Exception:  # a campaign that cannot go on is a violation, too
            violations = traceback.format_exc()
            print((Path(folder) / "stderr").read_text()[-4000:])
    again = f"; again: make chaos KILLS={options.kills} SEED={options.seed}" if violations else ""
    print(f"violations: {violations or 'none'}{again}")
    return 1 if violations else 0


if __name__ == "__main__":
    sys.exit(main())
