"""A long campaign of kills under traffic: `python -m tests.e2e.chaos --kills 20 --seed 1`.

Every random choice comes from the seed: which step is fatal and when, and the traffic. A failing
campaign can be replayed with its seed; the moments at which messages meet a kill are the machine's.
"""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path
from random import Random

from compose.exactly_once.steps import Step
from compose.local.broker import EmbeddedBroker
from tests.e2e.deployment import Deployment
from tests.e2e.test_kills import kill_at_random

FATAL = (
    Step.CLAIMED,
    Step.OUTPUT_COMPUTED,
    Step.TRANSACTION_OPEN,
    Step.BEFORE_COMMIT,
    Step.COMMITTED,
)


def campaign(deployment: Deployment, kills: int, random: Random) -> Counter[str]:
    """Kill the service again and again under traffic; return how often where."""
    hits: Counter[str] = Counter()
    with deployment.traffic(seed=random.randrange(2**32)):
        for number in range(kills):
            if random.random() < 0.4:
                kill_at_random(deployment, random)
                where = f"at random: {deployment.crash_table_row() or 'no batch open'}"
            else:
                step = random.choice(FATAL)
                nth = 1 if step is Step.CLAIMED else random.randint(1, 12)
                with deployment.start((step, nth)) as doomed:
                    assert doomed.wait() == -9
                where = f"at {step}"
            hits[where] += 1
            print(f"kill {number + 1} of {kills}: {where}", flush=True)
    return hits


def main() -> int:
    """Run a campaign, then a quiet phase, then hold everything against the model."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    with (
        tempfile.TemporaryDirectory(prefix="verdict-chaos-") as folder,
        EmbeddedBroker(Path(folder) / "broker") as broker,
    ):
        deployment = Deployment(broker.bootstrap_servers, "chaos", Path(folder) / "d")
        hits = campaign(deployment, options.kills, Random(options.seed))
        with deployment.running():
            deployment.await_quiet()
        commands = len(deployment.commands())
        print(f"seed {options.seed}, {commands} commands, kills: {dict(hits)}")
        try:
            deployment.assert_as_the_model_says()
        except AssertionError as violations:
            print(f"violations: {violations}")
            return 1
    print("violations: none")
    return 0


if __name__ == "__main__":
    sys.exit(main())
