import logging
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress

import psycopg
import pytest
from psycopg.errors import InsufficientPrivilege, ObjectNotInPrerequisiteState

from tests.application import APPLICATION
from tests.postgresql import Server
from verdict.adapters.sql.readers.reader import NotAllowedError, Reader
from verdict.errors import UnreachableError, VerdictError
from verdict.read_side.catalog import projections
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.read_side.schema.system_views import readable
from verdict.settings.database_address import SUPPORT, Roles

VIEWS = readable(projections(APPLICATION))
PLACE = "INSERT INTO projections.projection_position_v1 VALUES ('x', 1, 't', 0, 5)"

KINDS = ("reader", "auditor", "support")
Owned = Callable[[str, str], str]


@pytest.fixture(scope="module")
def url(postgresql: Server) -> Iterator[str]:
    with postgresql.database() as url:
        create(url)
        yield url


@pytest.fixture
def reader(url: str) -> Iterator[Reader]:
    with Reader(url, VIEWS, SUPPORT) as reader:
        yield reader


@pytest.fixture
def owned(postgresql: Server) -> Iterator[Owned]:
    """Return a function that makes a user of some rights, with an empty database of its own."""

    def own(user: str, rights: str) -> str:
        made.callback(postgresql.execute, f"DROP USER {user}")
        for kind in KINDS:
            made.callback(postgresql.execute, f"DROP ROLE IF EXISTS {user}_{kind}")
        url = made.enter_context(postgresql.database())
        name = url.rpartition("/")[2].partition("?")[0]
        made.callback(postgresql.execute, f"ALTER DATABASE {name} OWNER TO postgres")
        made.callback(postgresql.execute, f"REASSIGN OWNED BY {user} TO postgres", name)
        postgresql.execute(f"CREATE USER {user} {rights}")
        postgresql.execute(f"ALTER DATABASE {name} OWNER TO {user}")
        return postgresql.url(name, user)

    with ExitStack() as made:
        yield own


def create(url: str, user: str = "verdict") -> None:
    roles = Roles(*(f"{user}_{kind}" for kind in KINDS))
    engine = open_database(url)
    try:
        create_read_side(engine, projections(APPLICATION), roles)
    finally:
        engine.dispose()


@pytest.mark.parametrize(
    "statement",
    [
        "-- who?\n/* all */ (SELECT client FROM public.us_holder)",
        "WITH us AS (SELECT client FROM us_holder) SELECT max(client) FROM us GROUP BY client",
        "EXPLAIN SELECT * FROM outcome WHERE command_id = 'c-1'",
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION SELECT i + 1 FROM n WHERE i < 3) SELECT i FROM n",
        "SELECT '50%', '?', ':a'",
    ],
)
def test_select_is_allowed_in_all_its_forms(reader: Reader, statement: str) -> None:
    list(reader.select(statement).rows)


@pytest.mark.proves("S-03")
@pytest.mark.parametrize(
    ("statement", "wanted"),
    [
        ("SELECT * FROM projections.us_holder_v1", "schema projections"),
        ("SELECT pg_read_file('/etc/passwd')", "function pg_read_file"),
        ("SELECT * INTO mine FROM us_holder", "SELECT INTO"),
        ("WITH gone AS (DELETE FROM us_holder RETURNING 1) SELECT * FROM gone", "view us_holder"),
        ("EXPLAIN ANALYZE UPDATE us_holder SET positions = 2", "view us_holder"),
        ("DROP VIEW us_holder", "DROP"),
        ("COPY us_holder TO STDOUT", "COPY"),
        ("RESET ROLE", "RESET"),
        ("BEGIN", "BEGIN"),
        ("", "nothing"),
    ],
)
def test_anything_else_is_refused_by_name(reader: Reader, statement: str, wanted: str) -> None:
    with pytest.raises(NotAllowedError) as refusal:
        reader.select(statement)

    assert str(refusal.value).endswith(f"this statement wants {wanted}")
    assert reader.select("SELECT * FROM us_holder").columns == ("client", "positions", "since")


@pytest.mark.parametrize(
    ("statement", "problem"),
    [
        (
            "SELECT * FROM us_holders",
            '"us_holders" does not exist; is it us_holder\\? `verdict sql` lists the views',
        ),
        ("SELECT * FROM us_holder_v1", '"us_holder_v1" does not exist; is it us_holder'),
        ("SELECT FROM WHERE", "syntax error at or near"),
        ("SELECT 1; DROP VIEW us_holder", "multiple commands"),
        ("SELECT offset FROM outcome", 'wants the column "offset" in double quotes'),
        ("SELECT 1 / (SELECT count(*) FROM us_holder)", "division by zero"),
    ],
)
def test_a_mistake_is_explained(reader: Reader, statement: str, problem: str) -> None:
    with pytest.raises(VerdictError, match=problem):
        list(reader.select(statement).rows)


def test_values_are_as_on_sqlite(reader: Reader) -> None:
    values = "SELECT timestamptz '2026-11-21 13:00:00.5+01', true, sum(2::bigint), 0.5, null"

    (row,) = reader.select(f"{values}, bytea '\\x00ff', ?::text", ["a"]).rows
    (named,) = reader.select("SELECT :a::text, '12:30'", {"a": "x"}).rows

    assert row == ("2026-11-21T12:00:00.500Z", 1, 2, 0.5, None, b"\0\xff", "a")
    assert named == ("x", "12:30")


@pytest.mark.proves("S-03")
@pytest.mark.parametrize(
    "statement",
    [
        "SELECT 1",
        "SELECT 1 WHERE false",
        "SELECT * FROM generate_series(1, 2000)",
        "SELECT nothing",
    ],
)
def test_a_reader_that_has_read_all_holds_nothing_open(
    postgresql: Server, url: str, reader: Reader, statement: str
) -> None:
    with suppress(VerdictError):
        for row in reader.select(statement).rows:
            assert row

    # its locks would keep a swap out, and its snapshot what is to be cleaned up
    states = (
        "SELECT state FROM pg_stat_activity WHERE datname = %s AND pid <> pg_backend_pid() "
        "AND backend_type = 'client backend'"  # not a vacuum
    )
    with psycopg.connect(url.replace("+psycopg", "")) as other:
        [state] = other.execute(states, [other.info.dbname]).fetchall()
    assert state == ("idle",)
    next(reader.select("SELECT count(*) FROM us_holder_version").rows)
    with psycopg.connect(url.replace("+psycopg", "")) as other:  # before the last row is read
        other.execute("SET lock_timeout TO '2s'")
        other.execute("LOCK TABLE us_holder_version IN ACCESS EXCLUSIVE MODE")


def test_a_query_that_takes_too_long_is_ended(url: str) -> None:
    with (
        Reader(url, VIEWS, timeout_s=0.1) as reader,
        pytest.raises(VerdictError, match=r"may take 0\.1 s: ask for less of it, .* sql_timeout_s"),
    ):
        list(reader.select("SELECT pg_sleep(100)").rows)


def test_a_database_that_goes_away_under_a_reader_is_named(postgresql: Server, url: str) -> None:
    with Reader(url, VIEWS) as reader:
        postgresql.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE pid <> pg_backend_pid()"
        )

        with pytest.raises(UnreachableError, match="postgres"):
            reader.select("SELECT 1")


@pytest.mark.parametrize("opens", [open_database, lambda url: Reader(url, VIEWS)])
def test_a_database_that_does_not_answer_is_named_without_its_password(
    opens: Callable[[str], object],
) -> None:
    with pytest.raises(UnreachableError, match=r"ada:.*refused") as refusal:
        opens("postgresql://ada:secret@127.0.0.1:1/db?sslpassword=secret")

    assert "secret" not in str(refusal.value)


@pytest.mark.proves("S-03")
def test_a_member_of_the_role_can_select_the_views_and_nothing_else(
    postgresql: Server, owned: Owned
) -> None:
    """The role itself, without anything of ours in between."""
    url = owned("service", "CREATEROLE")
    create(url, "service")
    create(url, "service")  # again, as at each start
    with Reader(url, VIEWS, "service_reader") as reader:
        assert list(reader.select("SELECT * FROM us_holder").rows) == []
    postgresql.execute("CREATE USER eve IN ROLE service_support")
    with psycopg.connect(url.replace("service@", "eve@").replace("service:", "eve:")) as eve:
        eve.autocommit = True
        for view in VIEWS:
            eve.execute(f"SELECT * FROM {view}".encode())
        tables = [
            table.name
            for projection in projections(APPLICATION)
            for table in projection.table.metadata.sorted_tables
        ]
        wanted = [
            *(f"SELECT * FROM projections.{table}" for table in tables),
            *(f"INSERT INTO {view} DEFAULT VALUES" for view in VIEWS),
            *(f"DELETE FROM {view}" for view in VIEWS),
            *(f"DROP VIEW {view}" for view in VIEWS),
            "CREATE TABLE mine (x int)",
            "CREATE VIEW mine AS SELECT 1",
            "CREATE SCHEMA mine",
        ]
        for statement in wanted:
            with pytest.raises((InsufficientPrivilege, ObjectNotInPrerequisiteState)):
                eve.execute(statement.encode())
    postgresql.execute("DROP USER eve")


def test_a_user_that_may_not_create_roles_says_what_an_administrator_has_to_run(
    owned: Owned, postgresql: Server, caplog: pytest.LogCaptureFixture
) -> None:
    url = owned("plain", "")

    with caplog.at_level(logging.WARNING):
        create(url, "plain")

    sql = "; ".join(
        f"CREATE ROLE plain_{kind} NOLOGIN; GRANT plain_{kind} TO plain" for kind in KINDS
    )
    assert f"let an administrator run `{sql}`, then start again" in caplog.text
    with pytest.raises(VerdictError, match="cannot be read as plain_reader"):
        Reader(url, VIEWS, "plain_reader")
    with psycopg.connect(url) as owner:  # all else works
        owner.execute(PLACE.encode())

    for statement in sql.split(";"):
        postgresql.execute(statement)
    create(url, "plain")

    with Reader(url, VIEWS, "plain_reader") as reader:
        found = reader.select("SELECT next_offset FROM projection_position").rows
        assert list(found) == [(5,)]


def test_the_error_of_a_user_that_may_create_nothing_says_what_it_needs(
    owned: Owned, postgresql: Server
) -> None:
    url = owned("poor", "")
    name = url.rpartition("/")[2].partition("?")[0]
    postgresql.execute(f"ALTER DATABASE {name} OWNER TO postgres")

    with pytest.raises(VerdictError, match=f"GRANT CREATE ON DATABASE {name}"):
        create(url, "poor")


def test_a_login_that_may_not_use_the_tables_gets_that_error(postgresql: Server, url: str) -> None:
    postgresql.execute("CREATE USER stranger")
    try:
        with pytest.raises(VerdictError, match="this login may not use the schema projections"):
            open_database(postgresql.url(url.rpartition("/")[2].partition("?")[0], "stranger"))
    finally:
        postgresql.execute("DROP USER stranger")
