import json
from pathlib import Path

import pytest

from tests.cli.conftest import Run

PLACE = (
    *("send", "order", "PlaceOrder", "--expected-version", "0", "--wait", "30"),
    *("--field", "client=ada", "--field", "ticker=AAPL", "--field", "side=BUY"),
    *("--field", "quantity=5", "--field", "limit_price_cents=19000"),
)


def envelope(aggregate_id: str, number: int, **more: object) -> str:
    fields = {
        "aggregate": "position",
        "command_id": f"{aggregate_id}-{number}",
        "aggregate_id": aggregate_id,
        "expected_version": number,
        "payload": {"type": "AdjustPosition", "amount": number + 1},
    }
    if number == 0:
        fields["payload"] = {
            "type": "OpenPosition",
            "client": "ada",
            "ticker": "AAPL",
            "exchange": "NASDAQ",
            "amount": 1,
        }
    return json.dumps(fields | more)


def test_an_outcome_is_shown_and_has_its_exit_code(verdict: Run) -> None:
    first = verdict(*PLACE, "--id", "sent-1", "--command-id", "once")
    again = verdict(*PLACE, "--id", "sent-1", "--command-id", "once")
    rejected = verdict(*PLACE, "--id", "sent-1", "--json")

    assert (first.exit_code, first.stdout) == (0, "ACCEPTED order 'sent-1' version 0 → 1\n")
    assert (again.exit_code, again.stdout) == (0, f"{first.stdout[:-1]} (duplicate)\n")
    [response] = rejected.lines
    assert rejected.exit_code == 3
    assert (response["reason"], response["actual_version"]) == ("VERSION_CONFLICT", 1)


def test_without_wait_it_says_where_the_command_lies(verdict: Run) -> None:
    sent = verdict(
        *("send", "order", "DeleteOrder", "--id", "x", "--expected-version", "ANY", "--json")
    )

    [answer] = sent.lines
    assert sent.exit_code == 0
    assert answer["sent"].startswith("cli.order.commands:")


@pytest.mark.proves("C-12")
def test_an_outcome_that_does_not_come_ends_with_4_and_says_what_to_do(verdict: Run) -> None:
    late = verdict(*PLACE, "--id", "sent-4", "--wait", "0")

    assert late.exit_code == 4
    assert late.stdout == ""
    assert "ask again with the same command id" in late.stderr


def test_a_file_is_sent_as_it_is_and_counted(verdict: Run, environment: Path) -> None:
    lines = [envelope("filed-1", 0), "", envelope("filed-1", 1), envelope("filed-1", 1)]
    lines.append(envelope("filed-1", 2, payload={"type": "AdjustPosition", "amount": 2.5}))
    Path("commands.ndjson").write_text("\n".join(lines))

    sent = verdict("send", "--file", "commands.ndjson", "--wait", "30", "--json")

    assert sent.exit_code == 3
    assert sent.stderr == "4 sent, 3 accepted, 1 rejected INVALID_COMMAND, 1 of them duplicates\n"
    assert [response["to_version"] for response in sent.lines] == [1, 2, 2, None]


def test_stdin_is_a_file_and_the_aggregate_may_be_an_argument(verdict: Run) -> None:
    line = json.loads(envelope("piped-1", 0))
    del line["aggregate"]

    sent = verdict("send", "position", "--file", "-", "--wait", "30", stdin=json.dumps(line))

    assert (sent.exit_code, sent.stderr) == (0, "1 sent, 1 accepted\n")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("{", "line 2: not JSON"),
        ('{"aggregate": "order", "aggregate_id": "x"}', "line 2: command_id: Input should be"),
        ('{"aggregate_id": "x", "command_id": "c"}', 'line 2: it has no "aggregate"'),
        ('{"aggregate": "car", "aggregate_id": "x", "command_id": "c"}', "no aggregate 'car'"),
    ],
)
def test_a_line_that_cannot_be_sent_is_named_with_what_was_sent_before_it(
    verdict: Run, line: str, problem: str
) -> None:
    sent = verdict("send", "--file", "-", stdin=f"{envelope('bad-lines', 0)}\n{line}\n")

    assert sent.exit_code == 2
    assert sent.stderr.startswith("1 sent; stopped before the end")
    assert problem in sent.stderr


@pytest.mark.parametrize(
    ("arguments", "problem"),
    [
        (("car", "Drive"), "no aggregate 'car': there are enrolment, invoice, loyalty, order"),
        (("order", "Drive"), "order has no command 'Drive': it has PlaceOrder"),
        (("order", "FillOrder"), "FillOrder has quantity, price_cents"),
        (("order", "FillOrder", "--field", "quantity"), "'quantity' is no name=value"),
        (("order", "FillOrder", "--field", "quantity=many"), "quantity: Input should be a valid"),
        (("order", "FillOrder", *("--field", "quantity=1") * 2), "'quantity' is given twice"),
        (("order", "DeleteOrder", "--command-id", ""), "command_id: String should have at least 1"),
        (("order", "ModifyOrder"), "ModifyOrder has [quantity], [limit_price_cents]"),
        (("order", "DeleteOrder", "--deadline", "soon"), "'soon' is no time with a zone"),
        (("order", "DeleteOrder", "--file", "x"), "a --file has all of a command"),
    ],
)
def test_a_wrong_command_line_ends_with_2_and_names_the_problem(
    verdict: Run, arguments: tuple[str, ...], problem: str
) -> None:
    sent = verdict("send", *arguments, "--id", "x", "--expected-version", "1")

    assert sent.exit_code == 2
    assert problem in " ".join(sent.stderr.replace("│", " ").split())


@pytest.mark.parametrize("expected", ["-1", "2.0", "SOME"])
def test_an_expected_version_is_a_count_or_a_known_word(run: Run, expected: str) -> None:
    sent = run("send", "order", "DeleteOrder", "--id", "x", f"--expected-version={expected}")

    assert sent.exit_code == 2
    assert f"expected version {expected!r} is neither" in sent.stderr


def test_a_command_over_the_limit_is_not_sent(verdict: Run) -> None:
    sent = verdict(
        *("send", "order", "CancelOrder", "--id", "x", "--expected-version", "1"),
        *("--field", f"cause={'x' * 70_000}"),
    )

    assert sent.exit_code == 1
    assert "at most 65536 are read" in sent.stderr


@pytest.mark.proves("B-07")
@pytest.mark.parametrize(
    ("projection", "code", "said"),
    [
        ("us_holder", 1, "us_holder keeps no row for each order"),
        ("outcome", 1, "client_recent_order or client_overview or order_state does"),
        ("nothing", 2, "there is no projection 'nothing'"),
    ],
)
def test_a_projection_that_will_never_show_it_is_named_before_anything_is_sent(
    verdict: Run, projection: str, code: int, said: str
) -> None:
    refused = verdict(*PLACE, "--id", f"never-{projection}", "--projection", projection)

    assert refused.exit_code == code
    assert said in " ".join(refused.stderr.split())
    assert verdict(*PLACE, "--id", f"never-{projection}").stdout.endswith("version 0 → 1\n")


def test_a_schema_that_wrote_records_is_not_replaced(verdict: Run) -> None:
    verdict(*PLACE, "--id", "sent-schema")

    refused = verdict("schemas", "write", "--unpublished", "order_command")

    assert refused.exit_code == 1
    assert "order_command has" in " ".join(refused.stderr.split())
