"""A file's URL is read as SQLAlchemy reads it, which writes to that file."""

from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from sqlalchemy import make_url

from verdict.errors import VerdictError
from verdict.settings.database_address import file_of, url_of


@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1))
@example("/var/lib/a b/read.db")
@example("/50%25/read.db")
@example("read.db?timeout=3")
@example("//server/share")
def test_the_file_is_the_one_that_is_written(path: str) -> None:
    url = f"sqlite:///{path}"

    assert file_of(url) == Path(make_url(url).database or "").absolute()


@given(st.text(st.characters(exclude_categories=("Cs", "Cc")), min_size=1))
@example("a b?timeout=3")
@example("%41%2F#ü+&")
def test_a_file_has_a_url_that_leads_to_it(name: str) -> None:
    file = Path("/var/lib", name).absolute()

    assert file_of(url_of(file)) == file
    assert Path(make_url(url_of(file)).database or "") == file


def test_a_server_is_no_file() -> None:
    assert file_of("postgresql://ada@host/db") is None


@pytest.mark.parametrize("url", ["mysql://host/db", "read.db", ""])
def test_what_no_verdict_writes_to_is_refused(url: str) -> None:
    with pytest.raises(VerdictError, match="database"):
        file_of(url)
