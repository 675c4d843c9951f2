"""Finds the service that runs on a data directory, by the file that it leaves there."""

import contextlib
import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import psutil

from verdict.configuration.kafka import Options, librdkafka_options
from verdict.configuration.settings import Settings
from verdict.errors import Unreachable, VerdictError
from verdict.local.lock import FILE as LOCK

FILE = "verdict.json"
DATABASE = "verdict.db"
CLOCK_STEP_S = 60  # how far the clock may have been set back since the file was written


@dataclass(frozen=True, slots=True)
class Overdue:
    """A batch that has been under way for longer than it should be, since (epoch seconds)."""

    batch_id: int
    since: float


@dataclass(frozen=True, slots=True)
class Service:
    """Where a service that takes commands can be found, and what it says of itself.

    `stopped` has what is stopped and why, `overdue` the batches that do not end by their query,
    `kafka_away_since` is in seconds of the epoch.
    """

    pid: int
    bootstrap_servers: str
    database_url: str
    page_url: str | None = None
    stopped: Mapping[str, str] = field(default_factory=dict)
    overdue: Mapping[str, Overdue] = field(default_factory=dict)
    kafka_away_since: float | None = None


def announce(data_dir: Path, service: Service) -> None:
    """Write where `service` is found, whole or not at all, for the owner's eyes only."""
    fresh = data_dir / f"{FILE}.new"
    fresh.unlink(missing_ok=True)
    fresh.touch(mode=0o600)  # a database URL may hold a password
    fresh.write_text(json.dumps(asdict(service)) + "\n")
    fresh.replace(data_dir / FILE)


def withdraw(data_dir: Path) -> None:
    """Take the announcement back."""
    (data_dir / FILE).unlink(missing_ok=True)


def find_service(data_dir: Path) -> Service | None:
    """Return the service that runs on `data_dir`; None when none does, or it was killed.

    Raises:
        VerdictError: The announcement is damaged.
    """
    file = data_dir / FILE
    try:
        service = _service(json.loads(file.read_text()))
        written = file.stat().st_mtime
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (ValueError, TypeError) as error:
        raise VerdictError(
            f"{file} is damaged ({error}): remove it and start `verdict up` again"
        ) from error
    with contextlib.suppress(psutil.Error):
        process = psutil.Process(service.pid)
        # a pid may have a new owner, who then began after the file was written; but that shows
        # of the right one, too, when the clock was set forward meanwhile
        began_before = process.create_time() <= written + CLOCK_STEP_S
        if process.is_running() and (began_before or _has_open(process, data_dir / LOCK)):
            return service
    return None


def silent_s(data_dir: Path) -> float:
    """Return for how many seconds the service on `data_dir` has given no sign of life."""
    with contextlib.suppress(FileNotFoundError):  # it has just ended
        return time.time() - (data_dir / FILE).stat().st_mtime
    return 0.0


def _service(said: dict[str, Any]) -> Service:
    overdue = {query: Overdue(**batch) for query, batch in said.pop("overdue", {}).items()}
    return Service(**said, overdue=overdue)


def _has_open(process: psutil.Process, file: Path) -> bool:
    return str(file.resolve()) in {one.path for one in process.open_files()}


def bootstrap_servers(settings: Settings) -> str:
    """Return where Kafka is: as set, else as the running service says.

    Raises:
        Unreachable: Nothing is set and no service runs.
    """
    if settings.bootstrap_servers:
        return settings.bootstrap_servers
    if service := find_service(settings.data_dir):
        return service.bootstrap_servers
    raise Unreachable(
        f"no verdict runs on {settings.data_dir}: start `verdict up`, or name its directory with "
        "--data-dir, or Kafka with --bootstrap-servers"
    )


def database_url(settings: Settings) -> str:
    """Return where the read side is: as set, else as the running service says, else SQLite."""
    if settings.database_url:
        return settings.database_url.get_secret_value()
    if service := find_service(settings.data_dir):
        return service.database_url
    return f"sqlite:///{settings.data_dir.absolute() / DATABASE}"


def kafka_options(settings: Settings) -> Options:
    """Return librdkafka's options with the servers.

    Raises:
        Unreachable: No Kafka is set and no service runs.
    """
    return librdkafka_options(settings) | {"bootstrap.servers": bootstrap_servers(settings)}
