"""A field of a JSON text, spelled so that an index on it is found by whoever asks for it."""

from typing import Any

from sqlalchemy import ColumnElement, Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement


class JsonField(FunctionElement[str]):
    """The text of one field.

    Args:
        document: A text that is a JSON object.
        name: Of the field, a plain word.
    """

    type = Text()
    inherit_cache = False

    def __init__(self, document: ColumnElement[str], name: str) -> None:
        super().__init__(document)
        self.field = name


@compiles(JsonField, "sqlite")
def _on_sqlite(element: JsonField, compiler: SQLCompiler, **options: Any) -> str:
    document = compiler.process(element.clauses, **options)
    # one that somebody tampered with is for the audit to name, and must not fail who reads others
    return (
        f"CASE WHEN json_valid({document}) THEN json_extract({document}, '$.{element.field}') END"
    )


@compiles(JsonField, "postgresql")
def _on_postgresql(element: JsonField, compiler: SQLCompiler, **options: Any) -> str:
    document = compiler.process(element.clauses, **options)
    return f"(CAST({document} AS jsonb) ->> '{element.field}')"
