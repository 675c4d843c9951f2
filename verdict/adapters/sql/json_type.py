"""JSON in a column that Python has as text: the type of the column, and one field of it."""

from typing import Any

from sqlalchemy import ColumnElement, Dialect, Text
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.compiler import SQLCompiler
from sqlalchemy.sql.functions import FunctionElement
from sqlalchemy.types import TypeDecorator, TypeEngine


class JsonType(TypeDecorator[str]):
    """JSONB on PostgreSQL, else text."""

    impl = Text
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        """Return the type that the database knows."""
        if dialect.name != "postgresql":
            return dialect.type_descriptor(Text())
        from sqlalchemy.dialects.postgresql import JSONB  # slow to import

        return dialect.type_descriptor(JSONB())


class JsonField(FunctionElement[str]):
    """The text of the field `name` of a JSON object, in the form that an index has."""

    type = Text()
    inherit_cache = False

    def __init__(self, document: ColumnElement[str], name: str) -> None:
        super().__init__(document)
        self.field = name


@compiles(JsonField, "sqlite")
def _on_sqlite(element: JsonField, compiler: SQLCompiler, **options: Any) -> str:
    document = compiler.process(element.clauses, **options)
    # one broken text must not fail a query for others; the audit reports it
    return (
        f"CASE WHEN json_valid({document}) THEN json_extract({document}, '$.{element.field}') END"
    )


@compiles(JsonField, "postgresql")
def _on_postgresql(element: JsonField, compiler: SQLCompiler, **options: Any) -> str:
    document = compiler.process(element.clauses, **options)
    return f"(CAST({document} AS jsonb) ->> '{element.field}')"
