"""Hands mails over to a mail server, one after the other on one connection."""

import smtplib
import ssl
from contextlib import suppress
from email.message import EmailMessage

from verdict.configuration.mail_server import Server
from verdict.errors import Unreachable, VerdictError

TIMEOUT_S = 30  # for each answer of the server, of which a first mail takes about a dozen
LAST_TEMPORARY = 499


class Refused(Exception):
    """The server will never take this mail; its words."""


class Deferred(Exception):
    """The server did not take it now, or it is not known whether it did; its words."""


class Courier:
    """Connects when there is something to hand over; also a context manager.

    Args:
        server: Where to.
    """

    def __init__(self, server: Server) -> None:
        self._server = server
        self._smtp: smtplib.SMTP | None = None

    def deliver(self, message: EmailMessage) -> None:
        """Return when the server has said that it has the mail.

        Raises:
            Refused: It has not, and will not.
            Deferred: It may take it later, or may have it.
            Unreachable: There is no server, or it does not let us in.
            VerdictError: It takes no mail of this sender.
        """
        smtp = self._connected()
        try:
            smtp.send_message(message)
        except smtplib.SMTPSenderRefused as error:
            if error.smtp_code <= LAST_TEMPORARY:
                raise Deferred(_words(error.smtp_code, error.smtp_error)) from error
            words = _words(error.smtp_code, error.smtp_error)
            raise VerdictError(
                f"the mail server {self._server} refuses the sender {error.sender} ({words}): "
                "name one that it takes with --from"
            ) from error
        except smtplib.SMTPRecipientsRefused as error:
            [answer] = error.recipients.values()
            raise _for_good_or_not(*answer) from error
        except smtplib.SMTPResponseException as error:
            raise _for_good_or_not(error.smtp_code, error.smtp_error) from error
        except smtplib.SMTPNotSupportedError as error:
            raise Refused(str(error)) from error
        except OSError as error:  # all else that smtplib raises is one too
            self.close()
            raise Deferred(
                f"the connection to {self._server} was lost ({error}): it may have the mail"
            ) from error
        finally:
            if smtp.sock is None:  # given up by smtplib, as with 421
                self._smtp = None

    def close(self) -> None:
        """Take leave of the server."""
        smtp, self._smtp = self._smtp, None
        if smtp is not None:
            with suppress(OSError):
                smtp.quit()
            smtp.close()

    def _connected(self) -> smtplib.SMTP:
        if self._smtp is None:
            try:
                self._smtp = _connect(self._server)
            except OSError as error:
                raise Unreachable(
                    f"mail server {self._server}: {_said(error)}; what was sent is noted, run this "
                    "again when it can be reached"
                ) from error
        return self._smtp

    def __enter__(self) -> "Courier":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _connect(server: Server) -> smtplib.SMTP:
    context = ssl.create_default_context(cafile=server.ca_file)
    if server.security == "smtps":
        smtp: smtplib.SMTP = smtplib.SMTP_SSL(
            server.host, server.port, timeout=TIMEOUT_S, context=context
        )
    else:
        smtp = smtplib.SMTP(server.host, server.port, timeout=TIMEOUT_S)
    try:
        if server.security == "smtp+starttls":
            smtp.starttls(context=context)
        if server.user is not None:
            smtp.login(server.user, server.password)
    except BaseException:
        smtp.close()
        raise
    return smtp


def _for_good_or_not(code: int, words: bytes | str) -> Refused | Deferred:
    kind = Deferred if code <= LAST_TEMPORARY else Refused
    return kind(_words(code, words))


def _words(code: int, words: bytes | str) -> str:
    text = words.decode(errors="replace") if isinstance(words, bytes) else words
    return f"{code} {' '.join(text.split())}"


def _said(error: OSError) -> str:
    """Return what a server said, or what kept us from it."""
    if isinstance(error, smtplib.SMTPResponseException):
        return _words(error.smtp_code, error.smtp_error)
    return str(error)
