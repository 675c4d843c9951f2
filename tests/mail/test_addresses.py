import pytest

from projections.outbound.weekly_mail.smtp_server import SmtpServer, parse_server
from projections.outbound.weekly_mail.worker import parse_address


@pytest.mark.parametrize(
    "text",
    [
        "", "ada", "ada@", "@example.com", "ada b@example.com", "ada@example.com\nBcc: x@y.com",
        "ada@example.com, bob@example.com", "<ada@example.com>", "a..b@example.com",
    ],
)  # fmt: skip
def test_a_text_that_is_not_one_address_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=r"is not (a|one) mail address"):
        parse_address(text)


@pytest.mark.parametrize(
    ("url", "server"),
    [
        ("smtp://mail.example.com", SmtpServer("smtp", "mail.example.com", 25)),
        ("smtp://[::1]:2525/", SmtpServer("smtp", "::1", 2525)),
        ("smtp+starttls://mail.example.com", SmtpServer("smtp+starttls", "mail.example.com", 587)),
        ("smtps://mail.example.com", SmtpServer("smtps", "mail.example.com", 465)),
    ],
)
def test_a_mail_server_is_named_by_its_url(url: str, server: SmtpServer) -> None:
    assert parse_server(url) == server


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("", "host:port"), ("mail:25", "host:port"), ("smtp://", "host:port"),
        ("smtp://mail:x", "host:port"), ("smtp://mail/path", "host:port"),
        ("smtp://ada:hunter2@mail", "smtp_password"),
    ],
)  # fmt: skip
def test_a_url_of_something_else_or_with_a_password_is_refused(url: str, why: str) -> None:
    with pytest.raises(ValueError, match=why) as refusal:
        parse_server(url)

    assert "hunter2" not in str(refusal.value)
