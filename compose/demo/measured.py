"""Chapter: how fast it was, here."""

import os
import time
from statistics import median

from commands.order import PlaceOrder
from compose.demo.story import Measure, Story
from verdict import Status

ISOLATED = 20
WAIT_S = 60


def tell(story: Story) -> None:
    """Time a few commands one by one, and show everything that was measured on the way."""
    story.voice.begin(
        "Measured",
        "On this machine, with everything on it: both producers, Kafka, Spark, the database and "
        "whatever else runs here. Other machines give other numbers; no time is checked.",
    )
    timed = [_timed(story, number) for number in range(ISOLATED)]
    latencies_ms = [latency_ms for latency_ms, _ in timed]
    story.measures.append(
        Measure(
            f"{median(latencies_ms):,.0f} ms",
            f"one command alone, sent to verdict received: median of {ISOLATED} "
            f"(slowest {max(latencies_ms):,.0f} ms)",
        )
    )
    cores = os.cpu_count()
    load = os.getloadavg()[0]
    story.measures.append(Measure(f"{cores} cores", f"shared by all; load average {load:.1f}"))
    story.voice.show(("measured", "of what"), story.measures)
    story.voice.expect(
        f"the {ISOLATED} commands that were timed are accepted",
        [Status.ACCEPTED] * ISOLATED,
        [status for _, status in timed],
    )


def _timed(story: Story, number: int) -> tuple[float, Status]:
    """Send one command that has the application for itself; return milliseconds and verdict."""
    placed = PlaceOrder(
        client="ada", ticker="AAPL", side="BUY", quantity=1, limit_price_cents=19_000
    )
    began = time.perf_counter()
    answer = story.clients[0].send(f"alone-{number}", placed, expected_version=0).wait(WAIT_S)
    return (time.perf_counter() - began) * 1000, answer.status
