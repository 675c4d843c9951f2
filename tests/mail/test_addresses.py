from dataclasses import replace

import pytest

from compose.application import app
from tests.application import APPLICATION
from verdict.configuration.mail_server import Server, parse_server
from verdict.errors import VerdictError
from verdict.mail.addresses import NoAddress, addresses, checked


def test_a_template_takes_the_client_as_it_is_and_nothing_else() -> None:
    address_of = addresses(APPLICATION, "mail+{client}@example.com")

    assert address_of("ada") == "mail+ada@example.com"
    assert address_of("{client.__class__}") == "mail+{client.__class__}@example.com"


def test_a_function_of_the_application_tells_addresses() -> None:
    shop = replace(app, mail_addresses={"ours": shouted})
    assert addresses(shop, "ours")("ada") == "ADA"
    with pytest.raises(VerdictError, match=r"'theirs' tells no client's address.*there: ours"):
        addresses(shop, "theirs")


def shouted(client: str) -> str:
    return client.upper()


@pytest.mark.parametrize(
    "text",
    [
        "", "ada", "ada@", "@example.com", "ada b@example.com", "ada@example.com\nBcc: x@y.com",
        "ada@example.com, bob@example.com", "<ada@example.com>", "a..b@example.com",
    ],
)  # fmt: skip
def test_what_is_not_one_address_is_refused(text: str) -> None:
    with pytest.raises(NoAddress):
        checked(text)


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://mail.example.com", Server("smtp", "mail.example.com", 25)),
        ("smtp://[::1]:2525/", Server("smtp", "::1", 2525)),
        ("smtp+starttls://mail.example.com", Server("smtp+starttls", "mail.example.com", 587)),
        ("smtps://mail.example.com", Server("smtps", "mail.example.com", 465)),
    ],
)
def test_a_mail_server_is_named_by_its_url(url: str, server: Server) -> None:
    assert parse_server(url) == server


@pytest.mark.parametrize(
    "url", ["", "mail:25", "http://mail", "smtp://", "smtp://mail:x", "smtp://mail/path"]
)
def test_what_is_no_mail_server_is_refused(url: str) -> None:
    with pytest.raises(ValueError, match=r"smtp\|smtp\+starttls\|smtps://host:port"):
        parse_server(url)


def test_a_password_in_the_url_is_refused_and_not_repeated() -> None:
    with pytest.raises(ValueError, match="smtp_password") as refusal:
        parse_server("smtp://ada:hunter2@mail")

    assert "hunter2" not in str(refusal.value)
