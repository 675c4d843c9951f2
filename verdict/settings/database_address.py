"""Where a database is, and which roles read it."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from verdict.errors import EnvironmentIncompleteError, VerdictError

if TYPE_CHECKING:
    from sqlalchemy import URL

OF_A_FILE = "sqlite:///"
READER, AUDITOR, SUPPORT = "verdict_reader", "verdict_auditor", "verdict_support"
AUDITED = "projection_intervention"  # only those who may see payloads may see this view
LETTERS = frozenset({"dead_letter", "dead_letter_intervention"})


@dataclass(frozen=True, slots=True)
class Roles:
    """Names of the roles, each of which sees what those before it do, and more.

    A `reader` sees the projections, and of events what is not personal; an `auditor` their payloads
    too, and what people decided about them; `support` dead letters too.
    """

    reader: str = READER
    auditor: str = AUDITOR
    support: str = SUPPORT

    def each(self) -> Sequence[tuple[str, Collection[str]]]:
        """Return the roles, each with the views that are closed to it."""
        return (
            (self.reader, LETTERS | {AUDITED}), (self.auditor, LETTERS), (self.support, ()),
        )  # fmt: skip

    def open_to(self, role: str, views: Sequence[str]) -> list[str]:
        """Return those of `views` that a role may select from."""
        closed = dict(self.each())[role]
        return [view for view in views if view not in closed]


ROLES = Roles()


def url_of(file: Path) -> str:
    """Return the URL of a SQLite database, with its path escaped as `parse` reads it."""
    path = str(file.absolute()).replace("%", "%25").replace("?", "%3F")
    return f"{OF_A_FILE}{path}"


def file_of(url: str) -> Path | None:
    """Return the file of a SQLite database; None: it is another one."""
    if url.startswith(OF_A_FILE) and not {"?", "%"} & {*url}:
        return Path(url.removeprefix(OF_A_FILE)).absolute()
    parsed = parse(url)
    return Path(parsed.database or "").absolute() if is_sqlite(parsed) else None


def parse(url: str) -> "URL":
    """Return the URL, a plain PostgreSQL one with the driver that we use (psycopg 3)."""
    from sqlalchemy import make_url  # slow to import, and not needed for files
    from sqlalchemy.exc import ArgumentError

    try:
        parsed = make_url(url)
    except ArgumentError as error:
        # without the URL itself, as it may hold a password
        raise VerdictError(f"database URL: {error}, such as sqlite:////absolute/path") from None
    if parsed.drivername in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+psycopg")
    if parsed.get_backend_name() not in ("sqlite", "postgresql"):
        raise VerdictError(
            f"database {parsed.get_backend_name()!r} is not supported: "
            "use sqlite:////absolute/path or postgresql://…"
        )
    return parsed


def driver_missing(url: "URL", error: ModuleNotFoundError) -> EnvironmentIncompleteError:
    """Return what to say when the driver of a database is not installed."""
    return EnvironmentIncompleteError(
        f"{error.name} is not installed, and {masked_url(url)} needs it: "
        "pip install 'verdict-cqrs[postgres]'"
    )


def masked_url(url: "URL") -> str:
    """Return a URL without its passwords."""
    hidden = {name: "***" for name in url.query if "password" in name}
    return url.update_query_dict(hidden).render_as_string(hide_password=True)


def is_sqlite(url: "URL") -> bool:
    """Tell whether the database is a local file."""
    return url.get_backend_name() == "sqlite"
