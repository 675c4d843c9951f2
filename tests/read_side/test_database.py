import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Engine, event, inspect, select, text
from sqlalchemy.exc import DBAPIError, IntegrityError

from projections.program_tally import program_tally
from projections.us_holder import us_holder
from tests.application import APPLICATION
from tests.conftest import NewDatabase
from tests.postgresql import Server
from verdict.adapters.sql.bulk import MANY
from verdict.adapters.sql.readers.reader import Reader
from verdict.adapters.sql.session import SERVERS_PATIENCE, TABLES
from verdict.adapters.sql.statements import put
from verdict.errors import UnreachableError, VerdictError
from verdict.read_side.catalog import projections
from verdict.read_side.projections.builtin.outcome import outcome
from verdict.read_side.projections.kind_tables import compile_projection
from verdict.read_side.projections.row_projection import RowProjection
from verdict.read_side.schema import database
from verdict.read_side.schema.database import (
    check_built,
    create_read_side,
    live_versions,
    open_database,
)
from verdict.read_side.schema.system_views import readable
from verdict.settings.database_address import SUPPORT

pytestmark = pytest.mark.both_databases
TABLES_SCHEMA = {"sqlite": None, "postgresql": TABLES}


@pytest.fixture
def engine(new_database: NewDatabase) -> Iterator[Engine]:
    """Return an empty database."""
    engine = open_database(new_database())
    yield engine
    engine.dispose()


def test_an_error_tells_no_row(engine: Engine) -> None:
    """It goes to the log, the status, and what a reader may see of a stopped projection."""
    with engine.begin() as connection, pytest.raises(DBAPIError) as failed:
        connection.execute(text("INSERT INTO nowhere VALUES (:client)"), {"client": "ada"})

    assert "nowhere" in str(failed.value)
    assert "ada" not in str(failed.value)


def _tables(engine: Engine) -> set[str]:
    return {*inspect(engine).get_table_names(schema=TABLES_SCHEMA[engine.dialect.name])}


def test_creating_the_read_side_again_changes_nothing(engine: Engine) -> None:
    def there() -> tuple[set[str], set[str]]:
        return _tables(engine), {*inspect(engine).get_view_names()}

    create_read_side(engine, projections(APPLICATION))
    first = there()

    create_read_side(engine, projections(APPLICATION))

    assert there() == first
    assert {"us_holder_v1", "outcome_v1", "outbox_v1"} <= first[0]
    assert {"us_holder", "outcome", "us_holder_change", "projection_position"} <= first[1]


def test_several_may_create_the_read_side_at_the_same_time(new_database: NewDatabase) -> None:
    url = new_database()

    def create(_: int) -> None:
        engine = open_database(url)
        create_read_side(engine, projections(APPLICATION))
        engine.dispose()

    with ThreadPoolExecutor(4) as processes:
        list(processes.map(create, range(4)))


def us(*exchanges: str) -> dict[str, object]:
    """Return the setting of what counts as a US exchange."""
    return {"us_exchanges": exchanges}


@pytest.mark.proves("D-04")
def test_a_projection_that_was_built_with_other_settings_is_refused(engine: Engine) -> None:
    create_read_side(engine, projections(APPLICATION, us("NYSE", "IEX")))

    with pytest.raises(
        VerdictError,
        match=r"""nothing was built with '{"us_exchanges": \["NYSE"\]}', .*: us_holder v1 with .*"""
        r"""\["IEX", "NYSE"\]}', us_holder_from_state v1 with .*, client_overview v1 with .*; s""",
    ):
        check_built(engine, projections(APPLICATION, us("NYSE")))

    check_built(engine, projections(APPLICATION, us("IEX", "NYSE")))


@pytest.mark.proves("D-04")
def test_a_service_that_stopped_between_two_promotions_starts_with_either_settings(
    engine: Engine,
) -> None:
    create_read_side(engine, projections(APPLICATION, us("NYSE")))
    swapped = {"us_holder": 2}
    create_read_side(engine, projections(APPLICATION, us("IEX"), swapped))

    for exchange in ("NYSE", "IEX"):
        check_built(engine, projections(APPLICATION, us(exchange), swapped))
    with pytest.raises(
        VerdictError,
        match=r"us_holder v2 with .*\"IEX\"\]\}', us_holder_from_state v1 with .*\"NYSE\"",
    ):
        check_built(engine, projections(APPLICATION, us("LON"), swapped))


def made_and_asked(engine: Engine) -> list[Callable[[], object]]:
    """Return what a start does with a database, first to last, on one that has it all."""
    read_models = projections(APPLICATION)
    create_read_side(engine, read_models)
    return [
        partial(live_versions, engine),
        partial(create_read_side, engine, read_models),
        partial(check_built, engine, read_models),
    ]


@pytest.mark.proves("F-14")
def test_a_file_that_somebody_else_writes_to_is_out_of_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "WAIT_FOR_LOCK_S", 0.05)
    engine = open_database(f"sqlite:///{tmp_path / 'read.db'}")
    steps = made_and_asked(engine)

    with closing(sqlite3.connect(tmp_path / "read.db")) as somebody:
        somebody.execute("BEGIN IMMEDIATE")
        for step in steps:
            with pytest.raises(UnreachableError, match=r"read\.db: database is locked"):
                step()
        somebody.rollback()

    for step in steps:
        step()
    engine.dispose()


@pytest.mark.proves("F-14")
def test_a_server_that_does_not_write_yet_is_out_of_reach(postgresql: Server) -> None:
    """As after a failover."""
    with postgresql.database() as url:
        first = open_database(url)
        made_and_asked(first)
        first.dispose()
        name = first.url.database
        postgresql.execute(f"ALTER DATABASE {name} SET default_transaction_read_only TO on")

        engine = open_database(url)
        with pytest.raises(UnreachableError, match="cannot execute INSERT in a read-only"):
            create_read_side(engine, projections(APPLICATION))
        engine.dispose()

        postgresql.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")


def test_a_failure_leaves_no_half_of_a_read_side(
    engine: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    create_read_side(engine, [outcome()])
    monkeypatch.setattr(RowProjection, "sequences", (None,))

    with pytest.raises(IntegrityError):
        create_read_side(engine, [compile_projection(us_holder)])

    assert "us_holder_v1" not in _tables(engine)


def test_sqlite_is_safe_against_kill_and_power_loss_and_lets_readers_in(tmp_path: Path) -> None:
    engine = open_database(f"sqlite:///{tmp_path / 'read.db'}")

    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
        assert connection.connection.dbapi_connection.in_transaction  # type: ignore[union-attr]
    engine.dispose()


@pytest.mark.parametrize(
    ("url", "problem"),
    [
        ("mysql://host/db", "database 'mysql' is not supported: use sqlite:"),
        ("u:secret@host", "Could not parse SQLAlchemy URL"),
        ("sqlite://", "needs a file"),
    ],
)
def test_another_url_is_refused(url: str, problem: str) -> None:
    with pytest.raises(VerdictError, match=problem) as refusal:
        open_database(url)

    assert "secret" not in str(refusal.value)


def test_a_file_that_is_no_database_is_named(tmp_path: Path) -> None:
    file = tmp_path / "read.db"
    file.write_bytes(b"not a database" * 100)

    with pytest.raises(UnreachableError, match=r"read\.db: file is not a database"):
        open_database(f"sqlite:///{file}")


def test_postgresql_is_set_to_give_up_a_client_that_vanished(engine: Engine) -> None:
    """Its transaction would keep the next runner out, for hours by default."""
    if engine.dialect.name == "sqlite":  # where the operating system lets go of a dead process
        return
    with engine.connect() as connection:
        ours = connection.exec_driver_sql("SELECT name FROM pg_settings WHERE source = 'session'")

        assert SERVERS_PATIENCE.keys() <= {*ours.scalars()}  # values count over TCP only


@contextmanager
def _database(server: Server, name: str, created: str, *settings: str) -> Iterator[str]:
    """Give a database of one's own, with settings for all of its sessions."""
    server.execute(f"CREATE DATABASE {name} {created}")
    for setting in settings:
        server.execute(f"ALTER DATABASE {name} SET {setting}")
    try:
        yield server.url(name)
    finally:
        server.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.mark.proves("D-01")
def test_nothing_depends_on_earlier_settings_of_a_session(postgresql: Server) -> None:
    """Behind a pool each transaction may be on another connection of the server."""
    foreign = (
        "search_path TO nowhere",
        "TimeZone TO 'Asia/Kolkata'",
        "DateStyle TO 'German, DMY'",
        "client_encoding TO 'LATIN1'",
    )
    with _database(postgresql, "pooled", "", *foreign) as url:
        engine = open_database(url)
        event.listen(engine, "checkout", _another_session)
        create_read_side(engine, projections(APPLICATION))
        tally = compile_projection(program_tally)
        rows = [_participant(number) for number in range(2 * MANY)]
        for some in (rows[:MANY], rows[MANY : MANY + 5], rows[MANY + 5 :]):
            with engine.begin() as connection:
                put(connection, tally.table, some)

        with engine.connect() as connection:
            found = connection.execute(select(tally.table).order_by("aggregate_id"))
            assert [dict(row._mapping) for row in found] == rows
        with Reader(url, readable(projections(APPLICATION)), SUPPORT) as reader:
            for _ in range(10):  # more often than a driver takes before it prepares a statement
                asked = "SELECT aggregate_id, version FROM program_tally_version LIMIT 1"
                assert [*reader.select(asked).rows] == [("ω-00000", 1)]
        engine.dispose()


def _another_session(connection: Any, *_: object) -> None:
    connection.autocommit = True
    connection.execute("DISCARD ALL")
    connection.autocommit = False


def _participant(number: int) -> dict[str, Any]:
    return {
        "aggregate_id": f"ω-{number:05}",
        "version": 1,
        "present": True,
        "group_key": "Ⅷ",
        "program": "Ⅷ",
        "active": True,
        "last_login": 1_700_000_000_000 + number,
    }


@pytest.mark.proves("D-01")
def test_a_database_that_lacks_characters_is_refused(postgresql: Server) -> None:
    latin = "ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0"

    with (
        _database(postgresql, "latin", latin) as url,
        pytest.raises(VerdictError, match=r"latin.* is encoded in LATIN1.* ENCODING 'UTF8'"),
    ):
        open_database(url)
