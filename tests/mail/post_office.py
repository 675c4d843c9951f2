"""A real mail server that keeps what it accepts, and refuses what it is told to."""

import socket
import ssl
from collections.abc import Iterator
from contextlib import contextmanager
from email import message_from_bytes, policy
from email.message import EmailMessage
from typing import Any

from aiosmtpd.controller import Controller
from aiosmtpd.smtp import SMTP, AuthResult, Envelope, LoginPassword, Session

ACCEPTED = "250 OK"


class PostOffice:
    """What a server does with mails; `answers` are given to the receivers that they name."""

    def __init__(self) -> None:
        self.received: list[EmailMessage] = []
        self.answers: dict[str, str] = {}
        self.to_content = ACCEPTED
        self.to_senders = ACCEPTED
        self.hangs_up = False
        self.connections = 0
        self.port = 0

    @property
    def url(self) -> str:
        """As the setting has it."""
        return f"smtp://127.0.0.1:{self.port}"

    @property
    def receivers(self) -> list[str]:
        """Who got mails, sorted."""
        return sorted(str(mail["To"]) for mail in self.received)

    @property
    def message_ids(self) -> list[str]:
        """Those of the mails, as they came."""
        return [str(mail["Message-ID"]) for mail in self.received]

    async def handle_EHLO(
        self, server: SMTP, session: Session, envelope: Envelope, name: str, answers: list[str]
    ) -> list[str]:
        self.connections += 1
        session.host_name = name
        return answers

    async def handle_MAIL(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        if self.to_senders == ACCEPTED:
            envelope.mail_from = address
        return self.to_senders

    async def handle_RCPT(
        self, server: SMTP, session: Session, envelope: Envelope, address: str, options: list[str]
    ) -> str:
        answer = self.answers.get(address, ACCEPTED)
        if answer == ACCEPTED:
            envelope.rcpt_tos.append(address)
        return answer

    async def handle_DATA(self, server: SMTP, session: Session, envelope: Envelope) -> str:
        assert isinstance(envelope.content, bytes)
        if self.to_content == ACCEPTED:
            mail = message_from_bytes(envelope.content, policy=policy.default)
            assert [str(mail["To"])] == envelope.rcpt_tos
            self.received.append(mail)
        if self.hangs_up:
            assert server.transport is not None
            server.transport.close()
        return self.to_content


class OnAnyPort(Controller):
    """Listens on a port of its own."""

    def __init__(self, handler: PostOffice, **options: Any) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0))
        handler.port = self.socket.getsockname()[1]
        super().__init__(handler, hostname="127.0.0.1", port=handler.port, **options)

    def _create_server(self) -> Any:
        return self.loop.create_server(
            self._factory_invoker, sock=self.socket, ssl=self.ssl_context
        )


@contextmanager
def open_office() -> Iterator[PostOffice]:
    """Run a mail server that anybody may use."""
    with _running(PostOffice(), enable_SMTPUTF8=False) as office:
        yield office


@contextmanager
def sealed_office(tls: ssl.SSLContext) -> Iterator[PostOffice]:
    """Run a mail server that talks TLS from the beginning."""
    with _running(PostOffice(), ssl_context=tls) as office:
        yield office


@contextmanager
def guarded_office(tls: ssl.SSLContext, user: str, password: str) -> Iterator[PostOffice]:
    """Run a mail server that turns to TLS, and then asks who one is."""

    def authenticate(*given: Any) -> AuthResult:
        right = LoginPassword(user.encode(), password.encode())
        return AuthResult(success=given[-1] == right, handled=False)

    guarded = {"auth_required": True, "authenticator": authenticate, "require_starttls": True}
    with _running(PostOffice(), tls_context=tls, **guarded) as office:
        yield office


@contextmanager
def _running(office: PostOffice, **options: Any) -> Iterator[PostOffice]:
    controller = OnAnyPort(office, **options)
    controller.start()
    try:
        yield office
    finally:
        controller.stop()
