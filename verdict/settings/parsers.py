"""How settings are written where there is only text, or only tables."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from stat import S_ISDIR
from typing import Any
from urllib.parse import unquote

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
# Spark takes these for a list of folders, or for a pattern that others fit too
UNFIT = re.compile(r"[,*?{}\[\]\\\x00-\x1f\x7f]")
TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}|[A-Za-z0-9._-]{0,248}\*")


def dotted(value: Any) -> Any:
    """Return a table of tables, as TOML reads `kafka.ssl.ca.location = …`, as one option."""
    return dict(_flat(value)) if isinstance(value, dict) else value


def listed(value: Any) -> Any:
    """Return `a, b` or `["a", "b"]`, as either is written in an environment variable, as a tuple.

    Raises:
        ValueError: It begins as JSON and is none.
    """
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            return from_json(value)
        except ValueError as error:
            raise ValueError(f"begins as a JSON list and is none, {error}: write a, b") from error
    if isinstance(value, str):
        return tuple(part.strip() for part in value.split(",") if part.strip())
    return value


def parse_output_limit(size: int) -> int:
    """Return how many bytes a command, or its events, may have, if every output can hold them.

    Raises:
        ValueError: A rejection with its copy of the command could be refused by its topic, which
            would end the service, and at every start again.
    """
    if size > LARGEST_BYTES:
        raise ValueError(
            f"{size} bytes are more than {LARGEST_BYTES}: an output may have {OUTPUT_BYTES}, and "
            "must hold that twice, in its value and in a header, beside all that is said of it"
        )
    return size


def cluster_url(value: str) -> str:
    """Return the master of a Spark cluster.

    Raises:
        ValueError: It is this machine, whose tasks at a time are set by `cores`.
    """
    if value.startswith("local"):
        raise ValueError(f"{value!r} is this machine: leave it unset, and set cores")
    return value


def folder_or_file_url(value: Any) -> Any:
    """Return a folder, also one that is named as `file:///mnt/verdict`.

    Raises:
        ValueError: It is on no file system of this machine; as a path it would be a folder of that
            name, in the one where the process was started.
    """
    return _folder(value, "; object stores and HDFS by themselves are not supported")


def _folder(value: Any, beside: str) -> Any:
    found = SCHEME.match(value) if isinstance(value, str) else None
    if found is None:
        return value
    path = value[found.end() :].removeprefix("//")
    if found[0] != "file:" or not path.startswith("/"):
        raise ValueError(
            f"{value!r} is no folder of this machine: name one on a file system that all machines "
            f"mount, such as /mnt/verdict{beside}"
        )
    return unquote(path)


def shared_folder(value: Any) -> Any:
    """Return a folder as `folder_or_file_url` does; one in an object store stays a URI.

    Raises:
        ValueError: It is neither.
    """
    if isinstance(value, str) and value.startswith("s3"):
        if OBJECTS.fullmatch(value):
            return value
        raise ValueError(
            f"{value!r} is no folder in an object store: write s3a://BUCKET or s3a://BUCKET/FOLDER "
            "of letters, digits and the characters . _ - /"
        )
    found = _folder(value, ", or s3a://BUCKET/FOLDER; HDFS by itself is not supported")
    return parse_possible(Path(found)) if isinstance(found, str) else found


def parse_possible(path: Path) -> Path:
    """Return the path of a folder that is there, or could be.

    Raises:
        ValueError: It is a file, no file system here has such names, it leads round in a circle, or
            Spark would read or write elsewhere.
    """
    if unfit := UNFIT.search(whole := str(path.absolute())):
        raise ValueError(
            f"{whole!r} has {unfit[0]!r} in it, which Spark takes for a list or a pattern: name a "
            "folder without any of , * ? { } [ ] \\ and control characters in its path"
        )
    try:
        if not S_ISDIR(path.stat().st_mode):
            raise ValueError(f"{str(path)!r} is no directory: name one, or one that can be made")
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass  # it may be made, or opened to us; whoever needs it says so
    except OSError as error:
        raise ValueError(f"{str(path)!r} can lead nowhere, {error.strerror}") from error
    return path


def kafka_servers(value: str) -> str:
    """Return addresses of Kafka that can be some, or nothing: it is not set then.

    Raises:
        ValueError: They cannot.
    """
    for one in value.split(",") if value else ():
        found = SERVER.fullmatch(one.strip())
        if found is None or not 0 < int(found["port"] or KAFKA_PORT) < PORTS:
            raise ValueError(f"{one!r} is no address of Kafka: write HOST:PORT, or several with ,")
    return value


def database(url: SecretStr) -> SecretStr:
    """Return the URL of a database of a kind that can be used, or nothing: it is not set then.

    Raises:
        ValueError: It is another one, or no URL.
    """
    try:
        if url:
            file_of(url.get_secret_value())
    except VerdictError as error:
        raise ValueError(str(error)) from None  # the cause shows the URL
    return url


def parse_token(token: SecretStr) -> SecretStr:
    """Return a token that nobody guesses.

    Raises:
        ValueError: It is too short.
    """
    if len(token) < TOKEN:
        raise ValueError(
            f"it has {len(token)} characters, and needs {TOKEN} at least: `openssl rand -hex 16` "
            "makes one"
        )
    return token


def topic_or_prefix(value: str) -> str:
    """Return a topic's name, or the beginning of many as `shop.*`.

    Raises:
        ValueError: Kafka has no such names.
    """
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
