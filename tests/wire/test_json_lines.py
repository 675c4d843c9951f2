"""Values as JSON that every parser takes."""

import json
from typing import Any

from verdict.wire.json_lines import json_line


def refuse(name: str) -> Any:
    raise AssertionError(f"{name} is no JSON")


def test_what_is_no_number_in_json_is_a_text() -> None:
    value = {"inf": float("inf"), "rows": [{"nan": float("nan")}, -float("inf"), 1.5]}

    read = json.loads(json_line(value), parse_constant=refuse)

    assert read == {"inf": "Infinity", "rows": [{"nan": "NaN"}, "-Infinity", 1.5]}
