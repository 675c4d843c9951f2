"""Delivers mails to a mail server, one after the other on one connection."""

import smtplib
import ssl
from contextlib import suppress
from email.message import EmailMessage

from projections.outbound.weekly_mail.smtp_server import SmtpServer
from verdict.errors import UnreachableError, VerdictError
from verdict.projections import DeliveryDeferredError, DeliveryRefusedError

TIMEOUT_S = 30  # for each answer of the server; the first mail takes about a dozen
LAST_TEMPORARY = 499


class SmtpTransport:
    """Connects when there is a mail to deliver; also a context manager."""

    def __init__(self, server: SmtpServer) -> None:
        self._server = server
        self._smtp: smtplib.SMTP | None = None

    def deliver(self, mail: EmailMessage) -> None:
        """Return when the server has accepted the mail.

        Raises:
            DeliveryRefusedError: The server will never accept it.
            DeliveryDeferredError: The server may accept it later, or may have it.
            UnreachableError: The server does not answer, or refuses the login.
            VerdictError: The server accepts no mail from this sender.
        """
        smtp = self._connected()
        try:
            smtp.send_message(mail)
        except smtplib.SMTPSenderRefused as error:
            answer = _answer(error.smtp_code, error.smtp_error)
            if error.smtp_code <= LAST_TEMPORARY:
                raise DeliveryDeferredError(answer) from error
            raise VerdictError(
                f"the mail server {self._server} refuses the sender {error.sender} ({answer}): "
                "name one that it accepts with --from"
            ) from error
        except smtplib.SMTPRecipientsRefused as error:
            [(code, text)] = error.recipients.values()
            raise _not_accepted(code, text) from error
        except smtplib.SMTPResponseException as error:
            raise _not_accepted(error.smtp_code, error.smtp_error) from error
        except smtplib.SMTPNotSupportedError as error:
            raise DeliveryRefusedError(str(error)) from error
        except OSError as error:  # smtplib's other errors are OSErrors too
            self.close()
            raise DeliveryDeferredError(
                f"the connection to {self._server} was lost ({error}): it may have the mail"
            ) from error
        finally:
            if smtp.sock is None:  # smtplib has closed it, for example after 421
                self._smtp = None

    def close(self) -> None:
        """End the connection."""
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
                raise UnreachableError(
                    f"mail server {self._server}: {_text(error)}; run this again when it can be "
                    "reached: what was sent is recorded"
                ) from error
        return self._smtp

    def __enter__(self) -> "SmtpTransport":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _connect(server: SmtpServer) -> smtplib.SMTP:
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


def _not_accepted(code: int, text: bytes | str) -> DeliveryRefusedError | DeliveryDeferredError:
    kind = DeliveryDeferredError if code <= LAST_TEMPORARY else DeliveryRefusedError
    return kind(_answer(code, text))


def _answer(code: int, text: bytes | str) -> str:
    words = text.decode(errors="replace") if isinstance(text, bytes) else text
    return f"{code} {' '.join(words.split())}"


def _text(error: OSError) -> str:
    if isinstance(error, smtplib.SMTPResponseException):
        return _answer(error.smtp_code, error.smtp_error)
    return str(error)
