"""This application with a bug in the rules for orders, until a file says that it is fixed.

`verdict up --app tests.dead_letters.ailing:app`: Spark's workers load the application by this
name, so they decide with the bug, too. The file is `FIXED` in the data directory.
"""

import os
from dataclasses import replace
from pathlib import Path
from typing import Any

from aggregates.order import decide, order
from compose.application import app as sound
from schemas.order import OrderEvent

FIXED = "fixed"


def decide_badly(state: Any, command: Any) -> list[OrderEvent]:
    """Decide as the rules do, once the file is there; fail until then."""
    if (Path(os.environ["VERDICT_DATA_DIR"]) / FIXED).exists():
        return decide(state, command)
    raise ZeroDivisionError("planted")


app = replace(
    sound,
    aggregates=tuple(
        replace(one, decide=decide_badly) if one is order else one for one in sound.aggregates
    ),
)
