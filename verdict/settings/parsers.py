"""Parses settings from texts and tables; a `ValueError` says what a wrong one must look like."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from stat import S_ISDIR
from typing import Any

from pydantic import SecretStr
from pydantic_core import from_json

from verdict.errors import VerdictError
from verdict.settings.database_address import file_of
from verdict.wire.topics import LARGEST_BYTES, OUTPUT_BYTES

OBJECTS = re.compile(r"s3a://[a-z0-9][a-z0-9.-]{1,61}[a-z0-9](/[A-Za-z0-9._-]+)*/?")
SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+:")
SERVER = re.compile(r"(?:\w+://)?(?:[\w.-]+|\[[0-9a-fA-F:.%]+\])(?::(?P<port>\d{1,5}))?")
TOKEN = 16  # characters
KAFKA_PORT, PORTS = 9092, 1 << 16
# Spark takes these for a list of folders, or for a pattern
UNFIT = re.compile(r"[,*?{}\[\]\\\x00-\x1f\x7f]")
TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}|[A-Za-z0-9._-]{0,248}\*")


def dotted(value: Any) -> Any:
    """Flatten a table of tables, as TOML reads `kafka.ssl.ca.location = …`."""
    return dict(_flat(value)) if isinstance(value, dict) else value


def listed(value: Any) -> Any:
    """Return the tuple of `a, b` or `["a", "b"]`."""
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            return from_json(value)
        except ValueError as error:
            raise ValueError(f"begins as a JSON list and is none, {error}: write a, b") from error
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def parse_output_limit(size: int) -> int:
    """Return the most bytes of a command or its events, if every output can hold them."""
    if size > LARGEST_BYTES:
        raise ValueError(
            f"{size} bytes are more than {LARGEST_BYTES}: an output may have {OUTPUT_BYTES}, and "
            "must hold that twice, in its value and in a header, with all that describes it"
        )
    return size


def cluster_url(value: str) -> str:
    """Return the master of a Spark cluster; this machine has the setting `cores`."""
    if value.startswith("local"):
        raise ValueError(f"{value!r} is this machine: leave it unset, and set cores")
    return value


def folder(value: Any) -> Any:
    """Return a folder of this machine."""
    if isinstance(value, str) and SCHEME.match(value):
        raise ValueError(
            f"{value!r} is no folder of this machine: name one, such as /mnt/verdict on a file "
            "system that all machines mount"
        )
    return value


def shared_folder(value: Any) -> Any:
    """Return a folder; one in an object store stays a URI."""
    if not isinstance(value, str):
        return value
    if OBJECTS.fullmatch(value):
        return value
    if SCHEME.match(value):
        raise ValueError(
            f"{value!r} is no folder that all machines see: name one on a file system that they "
            "mount, such as /mnt/verdict, or s3a://BUCKET or s3a://BUCKET/FOLDER of letters, "
            "digits and the characters . _ - /"
        )
    return parse_possible(Path(value))


def parse_possible(path: Path) -> Path:
    """Return the path of a folder that exists or can be made, if Spark takes it literally."""
    if unfit := UNFIT.search(whole := str(path.absolute())):
        raise ValueError(
            f"{whole!r} has {unfit[0]!r} in it, which Spark takes for a list or a pattern: name a "
            "folder without any of , * ? { } [ ] \\ and control characters in its path"
        )
    try:
        if not S_ISDIR(path.stat().st_mode):
            raise ValueError(f"{str(path)!r} is no directory: name one, or one that can be made")
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass  # it may be made, or opened to us
    except OSError as error:
        raise ValueError(f"{str(path)!r} can lead nowhere, {error.strerror}") from error
    return path


def kafka_servers(value: str) -> str:
    """Return addresses of Kafka; an empty text means that none is set."""
    for one in value.split(",") if value else ():
        found = SERVER.fullmatch(one.strip())
        if found is None or not 0 < int(found["port"] or KAFKA_PORT) < PORTS:
            raise ValueError(f"{one!r} is no address of Kafka: write HOST:PORT, or several with ,")
    return value


def database(url: SecretStr) -> SecretStr:
    """Return the URL of a supported database; an empty text means that none is set."""
    try:
        if url:
            file_of(url.get_secret_value())
    except VerdictError as error:
        raise ValueError(str(error)) from None  # the cause shows the URL
    return url


def parse_token(token: SecretStr) -> SecretStr:
    """Return a token that is long enough."""
    if len(token) < TOKEN:
        raise ValueError(
            f"it has {len(token)} characters, and needs {TOKEN} at least: `openssl rand -hex 16` "
            "makes one"
        )
    return token


def topic_or_prefix(value: str) -> str:
    """Return a topic's name, or the beginning of many as `shop.*`."""
    if not TOPIC.fullmatch(value):
        raise ValueError(f"{value!r} is no name of a topic: write parcels, or shop.* for many")
    return value


def _flat(options: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in options.items():
        if isinstance(value, dict):
            yield from _flat(value, f"{prefix}{name}.")
        else:
            yield f"{prefix}{name}", _text(value)


def _text(value: Any) -> Any:
    if isinstance(value, bool):
        return str(value).lower()
    return str(value) if isinstance(value, int | float) else value
