"""What a mail server may answer, and how one gets in."""

import ssl
from collections.abc import Iterator
from dataclasses import replace
from email.message import EmailMessage
from pathlib import Path

import pytest

from projections.outbound.weekly_mail.smtp import SmtpTransport
from projections.outbound.weekly_mail.smtp_server import SmtpServer
from tests.e2e.certificates import authority, signed
from tests.mail.post_office import PostOffice, guarded_office, sealed_office
from verdict.errors import UnreachableError
from verdict.projections import DeliveryDeferredError, DeliveryRefusedError

USER, PASSWORD = "verdict", "hunter2"


def a_mail(receiver: str = "ada@example.com") -> EmailMessage:
    mail = EmailMessage()
    mail["From"], mail["To"], mail["Message-ID"] = "verdict@example.com", receiver, "<1@x>"
    mail.set_content("Dear Ödön")
    return mail


def here(office: PostOffice) -> SmtpServer:
    return SmtpServer("smtp", "127.0.0.1", office.port)


def test_many_mails_take_one_connection(office: PostOffice) -> None:
    with SmtpTransport(here(office)) as transport:
        for _ in range(3):
            transport.deliver(a_mail())

    assert (len(office.received), office.connections) == (3, 1)
    assert office.received[0].get_content().splitlines() == ["Dear Ödön"]


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("452 no room", DeliveryDeferredError),
        ("421 too many", DeliveryDeferredError),
        ("554 spam", DeliveryRefusedError),
    ],
)
def test_what_the_server_says_to_the_content_counts(
    office: PostOffice, answer: str, kind: type[Exception]
) -> None:
    office.to_content = answer
    with SmtpTransport(here(office)) as transport:
        with pytest.raises(kind, match=answer):
            transport.deliver(a_mail())
        office.to_content = "250 OK"
        transport.deliver(a_mail())

    assert len(office.received) == 1


def test_an_address_that_the_server_cannot_spell_is_refused(office: PostOffice) -> None:
    with (
        SmtpTransport(here(office)) as transport,
        pytest.raises(DeliveryRefusedError, match="SMTPUTF8"),
    ):
        transport.deliver(a_mail("ada@ödön.example"))


@pytest.fixture(scope="module")
def trusted(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder with an authority's certificate and the server's."""
    folder = tmp_path_factory.mktemp("certificates")
    signed(authority(folder, "ca"), folder, "server", host="127.0.0.1")
    return folder


@pytest.fixture
def tls(trusted: Path) -> ssl.SSLContext:
    """Return what the server shows to others."""
    tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
    tls.load_cert_chain(trusted / "server.pem", trusted / "server.key")
    return tls


@pytest.fixture
def guarded(trusted: Path, tls: ssl.SSLContext) -> Iterator[SmtpServer]:
    """Return a server that wants TLS and a password, as one knows it who may use it."""
    with guarded_office(tls, USER, PASSWORD) as office:
        yield SmtpServer(
            "smtp+starttls", "127.0.0.1", office.port, USER, PASSWORD, trusted / "ca.pem"
        )


@pytest.mark.process
def test_a_client_needs_the_password_and_a_server_a_certificate(guarded: SmtpServer) -> None:
    with SmtpTransport(guarded) as transport:
        transport.deliver(a_mail())
    wrong = replace(guarded, password="hunter3")
    for server, why in ((wrong, "535 "), (replace(guarded, ca_file=None), "certificate verify")):
        with (
            SmtpTransport(server) as transport,
            pytest.raises(UnreachableError, match=why) as refusal,
        ):
            transport.deliver(a_mail())
        assert "hunter" not in f"{refusal.value} {server!r}"


@pytest.mark.process
def test_tls_can_be_there_from_the_beginning(trusted: Path, tls: ssl.SSLContext) -> None:
    with sealed_office(tls) as office:
        server = SmtpServer("smtps", "127.0.0.1", office.port, ca_file=trusted / "ca.pem")
        with SmtpTransport(server) as transport:
            transport.deliver(a_mail())

    assert len(office.received) == 1


def test_a_server_without_tls_gets_no_password(office: PostOffice) -> None:
    wanted = SmtpServer("smtp+starttls", "127.0.0.1", office.port, USER, PASSWORD)

    with SmtpTransport(wanted) as transport, pytest.raises(UnreachableError, match="STARTTLS"):
        transport.deliver(a_mail())
    assert office.received == []
