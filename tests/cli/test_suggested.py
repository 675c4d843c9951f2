"""What a message suggests is accepted where it is suggested."""

import re
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from projections.outbound.weekly_mail.week import parse_week
from tests.cli.conftest import Run
from verdict.cli.scaffold.files import require_valid_name
from verdict.cli.tail import parse_from
from verdict.model.message import epoch_millis
from verdict.operations.repair.stopping_records import range_of
from verdict.read_side.as_of.resolving import parse_as_of
from verdict.settings.database_address import file_of
from verdict.settings.parsers import topic_or_prefix
from verdict.wire.backoff import back_off

SUCH_AS = r"such as ([^\s,]+)"
Parse = Callable[[str], Any]


def named(name: str) -> None:
    require_valid_name("aggregate", name)


@pytest.mark.parametrize(
    "time",
    [
        "2024-01-01",
        "20240101",
        "2024-W05-1",
        "2024-01-01T10",
        "2024-01-01T10:00",
        "2024-01-01 10:00:00",
        "2024-01-01T10:00:00.123456",
    ],
)
def test_a_time_without_a_zone_is_suggested_with_one(time: str) -> None:
    with pytest.raises(ValueError, match="needs a time zone") as refused:
        epoch_millis(time)

    assert epoch_millis(str(refused.value).rpartition("for example ")[2]) > 0


@pytest.mark.parametrize(
    ("parse", "wrong"),
    [
        (epoch_millis, "2024-01-01Z"),
        (epoch_millis, "tomorrow"),
        (parse_from, "2024-01-01Z"),
        (parse_as_of, "2024-01-01Z"),
        (file_of, "no url"),
        (topic_or_prefix, "a b"),
        (parse_week, "W47"),
        (partial(back_off, {}), "soon"),
        (named, "A b"),
    ],
)
def test_what_is_suggested_is_accepted(parse: Parse, wrong: str) -> None:
    with pytest.raises(Exception, match=SUCH_AS + "|write |like ") as refused:
        parse(wrong)

    message = str(getattr(refused.value, "message", refused.value))
    suggested = re.findall(rf"{SUCH_AS}|write (\w+), or (\S+)|like '(\S+?)', '(\S+?)'", message)
    examples = [one for found in suggested for one in found if one]
    assert examples, message
    for one in examples:
        parse(one)


@pytest.mark.parametrize(
    ("verb", "parse"),
    [
        (("skip", "--reason", "x", "here"), range_of),
        (("tail", "events", "--from", "2024-01-01Z"), parse_from),
        (("state", "order", "x", "--at", "noon"), epoch_millis),
        (("export", "us_holder", "--to", "-", "--as-of", "noon"), parse_as_of),
    ],
)
def test_what_a_verb_suggests_is_accepted(run: Run, verb: tuple[str, ...], parse: Parse) -> None:
    said = " ".join(run(*verb).stderr.replace("│", " ").split())

    examples = re.findall(SUCH_AS, said)
    assert examples, said
    assert all(parse(one) is not None for one in examples)
