"""What `verdict status` shows to a person, the most important first."""

from dataclasses import replace

import pytest

from tests.http.conftest import standing
from verdict.cli.render import show
from verdict.cli.status import _page
from verdict.operations.status.status import CommandsStatus, Problem, StatusReport

IDLE = [CommandsStatus("invoice.commands", number, 5, 5, 0) for number in range(4)]
BUSY = [CommandsStatus("order.commands", n, 5, 5 + lag, lag) for n, lag in enumerate((0, 2, 0))]


def shown(capsys: pytest.CaptureFixture[str], found: StatusReport) -> list[str]:
    show(*_page(found))
    return [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]


def test_what_needs_attention_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    problem = Problem("the lake stopped: no disk")

    lines = shown(capsys, replace(standing(), problems=(problem,)))

    assert lines[:2] == ["! the lake stopped: no disk", ""]
    assert lines[2].startswith("service up pid ")
    assert lines[3].startswith("decider generation 1")
    assert shown(capsys, standing())[0] == "nothing needs attention"


def test_a_topic_is_one_line_and_a_partition_is_one_where_something_waits(
    capsys: pytest.CaptureFixture[str],
) -> None:
    lines = shown(capsys, replace(standing(), commands=(*IDLE, *BUSY)))

    first = lines.index("commands topic decided end lag") + 2
    assert lines[first : first + 4] == [
        "invoice.commands 20 20 0",
        "order.commands 15 17 2",
        "partition 1 5 7 2",
        "",
    ]
