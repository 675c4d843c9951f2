"""A mail server as the setting `smtp_url` names it."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

PORTS = {"smtp": 25, "smtp+starttls": 587, "smtps": 465}
WANTED = f"write {'|'.join(PORTS)}://host:port"


@dataclass(frozen=True, slots=True)
class SmtpServer:
    """A mail server: `smtp` without TLS, `smtp+starttls`, or `smtps` with TLS from the start.

    Without `user` there is no login; without `ca_file` the authorities of this machine are trusted.
    """

    security: str
    host: str
    port: int
    user: str | None = None
    password: str = field(default="", repr=False)
    ca_file: Path | None = None

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def parse_server(url: str) -> SmtpServer:
    """Read a URL such as `smtp+starttls://mail.example.com:587`; the port is optional.

    The message of a ValueError does not quote the URL, as it may contain a password.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"not a URL: {WANTED}") from error
    if parts.username is not None or parts.password is not None:
        raise ValueError(
            f"a user or password in the URL would be shown: {WANTED}, and set them as smtp_user "
            "and smtp_password"
        )
    if parts.scheme not in PORTS or not parts.hostname or parts.path.strip("/"):
        raise ValueError(WANTED)
    return SmtpServer(parts.scheme, parts.hostname, port or PORTS[parts.scheme])
