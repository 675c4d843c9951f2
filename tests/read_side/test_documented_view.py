"""What views say of themselves: one declaration, for PostgreSQL's catalogue and for our readers."""

import re

import pytest
from sqlalchemy import Column, Engine, MetaData, Table, Text, select, text

from tests.application import APPLICATION
from tests.postgresql import Server
from verdict.read_side.catalog import projections
from verdict.read_side.projections.documented_view import about_view, columns_of, described
from verdict.read_side.schema.database import create_read_side, open_database
from verdict.read_side.schema.system_views import views_of

COMMENTS = """\
SELECT c.relname, coalesce(a.attname, ''), d.description FROM pg_class c
JOIN pg_namespace n ON n.oid = c.relnamespace AND n.nspname = 'public' AND c.relkind = 'v'
JOIN pg_description d ON d.objoid = c.oid AND d.classoid = 'pg_class'::regclass
LEFT JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum = d.objsubid AND d.objsubid > 0"""
MARK = re.compile(r" \(verdict:[0-9a-f]{16}\)$")


def declared() -> dict[tuple[str, str], str]:
    """Return what is said of each view, and of each of its columns, by their names."""
    found = {}
    for name, view in views_of(projections(APPLICATION)).items():
        found[name, ""] = about_view(view)
        found |= {(name, column.name): column.about for column in columns_of(view)}
    return found


def comments(engine: Engine) -> dict[tuple[str, str], str]:
    """Return what PostgreSQL says of them."""
    with engine.connect() as connection:
        found = connection.execute(text(COMMENTS))
        return {(view, column): MARK.sub("", said) for view, column, said in found}


def test_every_view_and_column_says_in_a_sentence_what_it_shows() -> None:
    said = declared()

    assert len(said) > 100
    assert [what for what, about in said.items() if not about.endswith(".")] == []


def test_every_column_says_what_readers_get_of_it() -> None:
    kinds = {
        column.type
        for view in views_of(projections(APPLICATION)).values()
        for column in columns_of(view)
    }

    assert kinds == {"text", "integer", "boolean", "time", "bytes", "json"}


def test_a_column_that_is_not_there_or_not_described_is_refused() -> None:
    table = Table("t", MetaData(), Column("here", Text))

    with pytest.raises(ValueError, match="here, nowhere"):
        described(select(table), "A table.", nowhere="Is not there.")


def test_postgresql_says_the_same_also_after_a_sentence_has_changed(postgresql: Server) -> None:
    with postgresql.database() as url:
        engine = open_database(url)
        create_read_side(engine, projections(APPLICATION))
        first = comments(engine)
        older = f"It''s old. (verdict:{'0' * 16})"
        with engine.begin() as connection:
            connection.execute(text(f"COMMENT ON VIEW us_holder IS '{older}'"))
        create_read_side(engine, projections(APPLICATION))

        assert first == declared()
        assert comments(engine) == first
        engine.dispose()
