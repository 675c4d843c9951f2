"""Finds the processes that run on a data directory, by files in which they announce themselves.

`verdict up` has its file in the directory itself, a role with a process of its own in its folder.
"""

import contextlib
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

import psutil
from pydantic import TypeAdapter, ValidationError

from verdict.errors import UnreachableError, VerdictError
from verdict.settings.database_address import url_of
from verdict.settings.kafka import Options, librdkafka_options
from verdict.settings.settings import Settings

FILE = "verdict.json"
LOCK = "verdict.lock"
DATABASE = "verdict.db"
ROLES = "run"
CLOCK_STEP_S = 60  # how far the clock may have been set back since the file was written


@dataclass(frozen=True, slots=True)
class OverdueBatch:
    """A batch that has taken longer than it should; `since` is in epoch seconds."""

    batch_id: int
    since: float


@dataclass(frozen=True, slots=True)
class Latency:
    """How long commands waited for their answers: median, 99th percentile and maximum.

    `at` is in epoch milliseconds: the begin of a minute, or the end of the last 60 s.
    """

    at: int
    commands: int
    p50_ms: int
    p99_ms: int
    most_ms: int


@dataclass(frozen=True, slots=True)
class AnnouncedService:
    """Where a process of a deployment can be reached, and its health.

    `stopped` has reasons by component, `overdue` batches by query, `kafka_away_since` is in epoch
    seconds. `latency` is of the last 60 s, `latencies` of each minute before.
    """

    pid: int
    bootstrap_servers: str
    database_url: str | None
    page_url: str | None = None
    stopped: Mapping[str, str] = field(default_factory=dict)
    overdue: Mapping[str, OverdueBatch] = field(default_factory=dict)
    kafka_away_since: float | None = None
    roles: tuple[str, ...] = ()
    latency: Latency | None = None
    latencies: tuple[Latency, ...] = ()
    deployment: str | None = None


_ANNOUNCED = TypeAdapter(AnnouncedService)


class DeploymentNotFoundError(VerdictError):
    """There is no deployment of that name."""


def home_of(data_dir: Path, role: str, *part: str) -> Path:
    """Return the folder of a role with a process of its own, or a path in it."""
    return Path(data_dir, ROLES, role, *part)


def announce(data_dir: Path, service: AnnouncedService) -> None:
    """Write where `service` is, at once, readable for the owner only."""
    fresh = data_dir / f"{FILE}.new"
    fresh.unlink(missing_ok=True)
    fresh.touch(mode=0o600)  # a database URL may hold a password
    fresh.write_text(json.dumps(asdict(service)) + "\n")
    fresh.replace(data_dir / FILE)


def withdraw(data_dir: Path) -> None:
    """Take the announcement back."""
    (data_dir / FILE).unlink(missing_ok=True)


def find_service(folder: Path) -> AnnouncedService | None:
    """Return the process that runs on `folder`; None: none does, or it was killed."""
    service = _announced(folder)
    return service if service is not None and _runs(service, folder) else None


def service_on(data_dir: Path) -> dict[Path, AnnouncedService]:
    """Return all processes on a data directory by folder, `verdict up` first."""
    found = {folder: find_service(folder) for folder in _folders(data_dir)}
    return {folder: service for folder, service in found.items() if service is not None}


def starting_on(data_dir: Path) -> int | None:
    """Return the pid of a process that holds a data directory and is not announced yet."""
    lock = data_dir / LOCK
    with contextlib.suppress(OSError, ValueError, psutil.Error):
        process = psutil.Process(int(lock.read_text()))
        if _has_open(process, lock) and find_service(data_dir) is None:
            return process.pid
    return None


def killed_roles(data_dir: Path) -> list[AnnouncedService]:
    """Return the roles that ran as processes of their own, and ended without a last word."""
    found = {folder: _announced(folder) for folder in _folders(data_dir)[1:]}
    return [one for folder, one in found.items() if one is not None and not _runs(one, folder)]


def _folders(data_dir: Path) -> list[Path]:
    return [data_dir, *sorted(file.parent for file in data_dir.glob(f"{ROLES}/**/{FILE}"))]


def _announced(folder: Path) -> AnnouncedService | None:
    file = folder / FILE
    try:
        return _ANNOUNCED.validate_json(file.read_bytes())
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise VerdictError(
            f"cannot see what runs on {folder}, {error.strerror} ({file}): ask as its owner, "
            "or name another directory with --data-dir"
        ) from error
    except ValidationError as error:
        said = [" ".join(map(str, (*one["loc"], one["msg"]))) for one in error.errors()]
        raise VerdictError(
            f"{file} is damaged ({'; '.join(said)}): remove it and start `verdict up` again"
        ) from None  # the cause shows values


def _runs(service: AnnouncedService, folder: Path) -> bool:
    with contextlib.suppress(psutil.Error, FileNotFoundError):  # it has just ended
        written = (folder / FILE).stat().st_mtime
        process = psutil.Process(service.pid)
        # a process that got the pid later began after the file was written; with a clock that was
        # set forward the right one seems so, too
        began_before = process.create_time() <= written + CLOCK_STEP_S
        return process.is_running() and (began_before or _has_open(process, folder / LOCK))
    return False


def silence_s(folder: Path) -> float:
    """Return the seconds since the last heartbeat of the process on `folder`."""
    with contextlib.suppress(FileNotFoundError):  # it has just ended
        return time.time() - (folder / FILE).stat().st_mtime
    return 0.0


def _has_open(process: psutil.Process, file: Path) -> bool:
    return str(file.resolve()) in {one.path for one in process.open_files()}


def bootstrap_servers(settings: Settings) -> str:
    """Return where Kafka is: as set, else as the running service says."""
    if settings.bootstrap_servers:
        return settings.bootstrap_servers
    for service in _of_the_deployment(settings):
        return service.bootstrap_servers
    raise UnreachableError(
        f"no verdict runs on {settings.data_dir}: start `verdict up` (`verdict run broker`, where "
        "that is refused), or name its directory with --data-dir, or Kafka with --bootstrap-servers"
    )


def running_kafka(data_dir: Path) -> str | None:
    """Return the Kafka of what runs on a data directory; None: nothing runs."""
    return next((one.bootstrap_servers for one in service_on(data_dir).values()), None)


def database_url(settings: Settings) -> str:
    """Return where the read side is: as set, else as the running service says, else SQLite."""
    if settings.database_url:
        return settings.database_url.get_secret_value()
    for service in _of_the_deployment(settings):
        if service.database_url is not None:
            return service.database_url
    return url_of(settings.data_dir / DATABASE)


def _of_the_deployment(settings: Settings) -> Iterable[AnnouncedService]:
    """Return what runs on the data directory, if it is of this deployment."""
    running = service_on(settings.data_dir).values()
    for service in running:
        if service.deployment not in (None, settings.deployment):
            raise DeploymentNotFoundError(
                f"there is no deployment {settings.deployment!r} on {settings.data_dir}: "
                f"{service.deployment!r} runs there; name that one, or another data directory with "
                "--data-dir"
            )
    return running


def kafka_options(settings: Settings) -> Options:
    """Return librdkafka's options with the servers."""
    return librdkafka_options(settings) | {"bootstrap.servers": bootstrap_servers(settings)}
