"""An owner in a process of its own, that kills itself at a step while it publishes a batch."""

import os
import signal
import sys

from tests.exactly_once.deployment import Deployment
from verdict.streaming.exactly_once.failpoints import Failpoint


def main(bootstrap_servers: str, name: str, deadly: str) -> None:
    """Take over a fresh deployment, publish batch 0 and die at the step called `deadly`."""

    def die(step: Failpoint) -> None:
        if step == deadly:
            os.kill(os.getpid(), signal.SIGKILL)

    deployment = Deployment(bootstrap_servers, name)
    publisher = deployment.claim(on_step=die)
    publisher.publish(deployment.batch(0), deployment.outputs(0))


if __name__ == "__main__":
    main(*sys.argv[1:])
