"""How long `verdict up` takes to its first verdict, with its own broker."""

import json
import os
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

from commands.order import PlaceOrder
from tests.application import APPLICATION
from tests.e2e.deployment import ROOT, VERDICT, await_ready, stop
from verdict.client.client import Client


def startup(folder: Path) -> Iterator[dict[str, Any]]:
    """Yield the seconds to `ready` and to the first verdict: on a new directory, then again."""
    data_dir = folder / "startup"
    for start in ("first", "second"):
        began = time.monotonic()
        service = subprocess.Popen(
            [VERDICT, "up"],
            cwd=ROOT,
            env=os.environ | {"VERDICT_DATA_DIR": str(data_dir)},
            stdout=subprocess.PIPE,
            text=True,
        )
        with service:
            try:
                await_ready(service)
                ready_s = time.monotonic() - began
                _first_verdict(data_dir, start)
                answered_s = time.monotonic() - began
                stop(service)
            finally:
                service.kill()
        yield {
            "what": "start",
            "start": start,
            "ready_s": round(ready_s, 1),
            "first_verdict_s": round(answered_s, 1),
        }


def _first_verdict(data_dir: Path, order_id: str) -> None:
    servers = json.loads((data_dir / "verdict.json").read_text())["bootstrap_servers"]
    place = PlaceOrder(
        client="ada",
        ticker="AAPL",
        side="BUY",
        quantity=Random(1).randint(1, 9),
        limit_price_cents=1,
    )
    with Client(APPLICATION, servers) as client:
        client.send(order_id, place, expected_version=0).wait(timeout_s=60)
