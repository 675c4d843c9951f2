"""The recipe for uniqueness does what it says: its rules and its policy run in memory."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import verdict
from tests.documents import Document
from verdict import REOPENING, Application, Command, Event, LifeCycle, Message, Name
from verdict.testing import InMemory
from verdict.wire.schemas.write import write_those_of_the_aggregates


class EmailClaimed(Event):
    account: Name


class EmailReleased(Event):
    pass


class ClaimEmail(Command):
    starts_from = REOPENING

    account: Name


class ReleaseEmail(Command):
    account: Name


class AccountOpened(Event):
    email: Name


class OpeningDeclined(Event):
    email: Name


class AccountClosed(Event):
    email: Name


class OpenAccount(Command):
    starts_from = frozenset(LifeCycle)

    email: Name


class CloseAccount(Command):
    pass


class Account(Message):
    email: Name


def decide(account: Account | None, command: OpenAccount | CloseAccount) -> list[Event]:
    if isinstance(command, OpenAccount):
        kind = AccountOpened if account is None else OpeningDeclined
        return [kind(email=command.email)]
    assert account is not None
    return [AccountClosed(email=account.email)]


def evolve(account: Account | None, event: Event) -> Account | None:
    match event:
        case AccountOpened(email=email):
            return Account(email=email)
        case OpeningDeclined():
            return account
        case _:
            return None


FILES = 4  # a schema of the commands and one of the events, of each of the two


@pytest.fixture
def shop(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Application:
    """Return an application of what the page shows, and of an account."""
    package = f"recipes_{tmp_path.name}"  # what is read of one is kept, so each has its own
    (tmp_path / package).mkdir()
    (tmp_path / package / "__init__.py").touch()
    monkeypatch.syspath_prepend(tmp_path)
    shown: dict[str, Any] = {name: getattr(verdict, name) for name in verdict.__all__}
    shown |= globals() | {"Iterator": Iterator, "EmailEvent": EmailClaimed | EmailReleased}
    for block in Document("docs/howto.md").blocks("python"):
        if block.startswith("# shop/"):
            exec(block, shown)
            if "class Email" in block:
                rules = shown["decide"], shown["evolve"]
    email = verdict.Aggregate(
        "email",
        shown["Email"],
        *rules,
        commands=ClaimEmail | ReleaseEmail,
        events=EmailClaimed | EmailReleased,
    )
    account = verdict.Aggregate(
        "account",
        Account,
        decide,
        evolve,
        commands=OpenAccount | CloseAccount,
        events=AccountOpened | OpeningDeclined | AccountClosed,
    )
    made = Application(
        name="shop",
        namespace="shop",
        schemas=package,
        aggregates=(email, account),
        policies=(shown["sign_up"],),
    )
    assert len([*write_those_of_the_aggregates(made)]) == FILES
    return made


def test_an_address_has_one_account_and_is_free_again_when_that_is_closed(
    shop: Application,
) -> None:
    with InMemory(shop) as memory:
        claims = [
            memory.send("ada@example.com", ClaimEmail(account=name), "ANY") for name in ("a", "b")
        ]
        assert [one.reason for one in claims] == [None, "ALREADY_EXISTS"]
        accounts = "SELECT id, email FROM account_state WHERE life_cycle = 'ACTIVE'"
        assert memory.sql(accounts) == [{"id": "a", "email": "ada@example.com"}]

        memory.send("a", CloseAccount(), "EXISTS")
        again = memory.send("ada@example.com", ClaimEmail(account="b"), "ANY")
        assert again.reason is None
        assert memory.sql(accounts) == [{"id": "b", "email": "ada@example.com"}]


def test_an_account_gets_no_second_address(shop: Application) -> None:
    with InMemory(shop) as memory:
        for address in ("ada@example.com", "eve@example.com"):
            memory.send(address, ClaimEmail(account="a"), "ANY")

        claimed = memory.sql("SELECT id FROM email_state WHERE life_cycle = 'ACTIVE'")
        assert claimed == [{"id": "ada@example.com"}]
        stranger = memory.send("ada@example.com", ReleaseEmail(account="b"), "ANY")
        assert (stranger.reason, stranger.details["code"]) == ("BUSINESS_RULE", "OTHER_ACCOUNT")
