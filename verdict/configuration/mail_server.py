"""Where mails are handed over, as a setting names it."""

from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

PORTS = {"smtp": 25, "smtp+starttls": 587, "smtps": 465}
WANTED = f"give it as {'|'.join(PORTS)}://host:port"


@dataclass(frozen=True, slots=True)
class Server:
    """A mail server.

    Args:
        security: `smtp`, in clear; `smtp+starttls`, which turns to TLS; `smtps`, TLS at once.
        host: Name or address.
        port: Of TCP.
        user: To log in; None for nobody.
        password: Of the user.
        ca_file: PEM of the authorities to believe; None for those of this machine.
    """

    security: str
    host: str
    port: int
    user: str | None = None
    password: str = field(default="", repr=False)
    ca_file: Path | None = None

    def __str__(self) -> str:
        return f"{self.host}:{self.port}"


def parse_server(url: str) -> Server:
    """Read a URL such as `smtp+starttls://mail.example.com:587`; the port may be left out.

    Raises:
        ValueError: It is none, or has a user in it, which is a setting of its own. What it holds
            is not said, as it may be a password.
    """
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"no URL: {WANTED}") from error
    if parts.username is not None or parts.password is not None:
        raise ValueError(
            f"a user or password in the URL would be shown: {WANTED}, and set them "
            "as smtp_user and smtp_password"
        )
    if parts.scheme not in PORTS or not parts.hostname or parts.path.strip("/"):
        raise ValueError(WANTED)
    return Server(parts.scheme, parts.hostname, port or PORTS[parts.scheme])
