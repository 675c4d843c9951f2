import sqlite3
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from sqlalchemy import Engine, inspect, literal, select
from sqlalchemy.exc import IntegrityError

from compose.errors import Unreachable, VerdictError
from compose.sql import database
from compose.sql.database import (
    SERVERS_PATIENCE,
    check_built,
    create_read_side,
    live_versions,
    open_database,
    parse,
)
from compose.sql.processor_tables import readable
from compose.sql.reader import Reader
from projections.engine.layout import replace_view
from projections.engine.reader_role import READER, let_in
from projections.outcome import outcome
from projections.registry import projections
from projections.us_holder import us_holder
from tests.conftest import NewDatabase
from tests.postgresql import Server


@pytest.fixture
def engine(new_database: NewDatabase) -> Iterator[Engine]:
    """Return an empty database."""
    engine = open_database(new_database())
    yield engine
    engine.dispose()


def test_creating_the_read_side_again_changes_nothing(engine: Engine) -> None:
    def there() -> tuple[set[str], set[str]]:
        return {*inspect(engine).get_table_names()}, {*inspect(engine).get_view_names()}

    create_read_side(engine, projections())
    first = there()

    create_read_side(engine, projections())

    assert there() == first
    assert {"us_holder_v1", "outcome_v1", "mail_outbox_v1"} <= first[0]
    assert {"us_holder", "outcome", "us_holder_change", "projection_position"} <= first[1]


def test_several_may_create_the_read_side_at_the_same_time(new_database: NewDatabase) -> None:
    url = new_database()

    def create(_: int) -> None:
        engine = open_database(url)
        create_read_side(engine, projections())
        engine.dispose()

    with ThreadPoolExecutor(4) as processes:
        list(processes.map(create, range(4)))


def test_a_view_can_be_swapped_in_one_transaction(engine: Engine) -> None:
    create_read_side(engine, projections())
    other = select(literal("ada").label("client"), literal(1).label("more"))
    views = readable(projections())

    def columns() -> list[str]:
        url = engine.url.render_as_string(hide_password=False)
        with Reader(url, views) as reader:
            return [*reader.select("SELECT * FROM us_holder").columns]

    before = columns()
    with engine.connect() as connection, connection.begin() as transaction:
        replace_view(connection, "us_holder", other)
        transaction.rollback()
    assert columns() == before
    with engine.begin() as connection:
        replace_view(connection, "us_holder", other)
        let_in(connection, READER, views)

    assert columns() == ["client", "more"]


def test_a_projection_that_was_built_with_other_settings_is_refused(engine: Engine) -> None:
    create_read_side(engine, projections(us_exchanges=["NYSE", "IEX"]))

    with pytest.raises(
        VerdictError,
        match=r"nothing was built with 'US exchanges: NYSE', .*: us_holder v1 with 'US exchanges: "
        r"IEX, NYSE', us_holder_from_state v1 with 'US exchanges: IEX, NYSE'; set it back",
    ):
        check_built(engine, projections(us_exchanges=["NYSE"]))

    check_built(engine, projections(us_exchanges=["IEX", "NYSE"]))


def test_who_stopped_between_two_swaps_to_other_settings_is_let_in_with_either(
    engine: Engine,
) -> None:
    create_read_side(engine, projections(us_exchanges=["NYSE"]))
    swapped = {"us_holder": 2}
    create_read_side(engine, projections(["IEX"], swapped))

    for exchange in ("NYSE", "IEX"):
        check_built(engine, projections([exchange], swapped))
    with pytest.raises(
        VerdictError, match=r"us_holder v2 with .*IEX', us_holder_from_state v1 with .*NYSE'"
    ):
        check_built(engine, projections(["LON"], swapped))


def made_and_asked(engine: Engine) -> list[Callable[[], object]]:
    """Return what a start does with a database, first to last, on one that has it all."""
    read_models = projections()
    create_read_side(engine, read_models)
    return [
        partial(live_versions, engine),
        partial(create_read_side, engine, read_models),
        partial(check_built, engine, read_models),
    ]


def test_a_file_that_somebody_else_writes_to_is_out_of_reach(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(database, "WAIT_FOR_LOCK_S", 0.05)
    engine = open_database(f"sqlite:///{tmp_path / 'read.db'}")
    steps = made_and_asked(engine)

    with closing(sqlite3.connect(tmp_path / "read.db")) as somebody:
        somebody.execute("BEGIN IMMEDIATE")
        for step in steps:
            with pytest.raises(Unreachable, match=r"read\.db: database is locked"):
                step()
        somebody.rollback()

    for step in steps:
        step()
    engine.dispose()


def test_a_server_that_does_not_write_yet_is_out_of_reach(postgresql: Server) -> None:
    """As after a failover."""
    with postgresql.database() as url:
        first = open_database(url)
        made_and_asked(first)
        first.dispose()
        name = first.url.database
        postgresql.execute(f"ALTER DATABASE {name} SET default_transaction_read_only TO on")

        engine = open_database(url)
        with pytest.raises(Unreachable, match="cannot execute INSERT in a read-only"):
            create_read_side(engine, projections())
        engine.dispose()

        postgresql.execute(f"ALTER DATABASE {name} RESET default_transaction_read_only")


def test_a_failure_leaves_no_half_of_a_read_side(engine: Engine) -> None:
    create_read_side(engine, [outcome()])

    with pytest.raises(IntegrityError):
        create_read_side(engine, [replace(us_holder(), sequences=(None,))])  # type: ignore[arg-type]

    assert "us_holder_v1" not in inspect(engine).get_table_names()


def test_sqlite_is_safe_against_kill_and_power_loss_and_lets_readers_in(tmp_path: Path) -> None:
    engine = open_database(f"sqlite:///{tmp_path / 'read.db'}")

    with engine.connect() as connection:
        assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == 2  # FULL
        assert connection.connection.dbapi_connection.in_transaction  # type: ignore[union-attr]
    engine.dispose()


@pytest.mark.parametrize("plain", ["postgresql://u:pw@host/db", "postgres://u:pw@host/db"])
def test_a_plain_postgresql_url_gets_our_driver(plain: str) -> None:
    expected = "postgresql+psycopg://u:pw@host/db"

    assert parse(plain).render_as_string(hide_password=False) == expected


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

    with pytest.raises(Unreachable, match=r"read\.db: file is not a database"):
        open_database(f"sqlite:///{file}")


def test_a_server_of_postgresql_is_told_to_give_up_a_client_that_vanished(engine: Engine) -> None:
    """Its transaction would keep the next runner out, for hours where nobody says otherwise."""
    if engine.dialect.name == "sqlite":  # where the operating system lets go of a dead process
        return
    with engine.connect() as connection:
        ours = connection.exec_driver_sql("SELECT name FROM pg_settings WHERE source = 'session'")

        assert SERVERS_PATIENCE.keys() <= {*ours.scalars()}  # values count over TCP only
