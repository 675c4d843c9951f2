"""What a query gives, as values that JSON has."""

from typing import cast

from verdict.adapters.sql.readers.reader import Reader
from verdict.operations.inspect.queries import rows


class Found:
    """A reader of SQLite, which keeps JSON as text."""

    columns = ("id", "parts", "payload")
    rows = (("1", "[1, 2]", '{"a": 1}'), ("2", None, None))

    def select(self, statement: str, parameters: object) -> "Found":
        """Return the rows, whatever is asked."""
        return self


def test_a_column_with_json_is_a_value_as_on_postgresql() -> None:
    reader = cast(Reader, Found())

    assert rows(reader, "SELECT", 9, ["parts", "payload"])[0] == {
        "id": "1", "parts": [1, 2], "payload": {"a": 1}
    }  # fmt: skip
    assert rows(reader, "SELECT")[0]["parts"] == "[1, 2]", "nobody has said that it is JSON"
    assert rows(reader, "SELECT", 9, ["parts"])[1] == {"id": "2", "parts": None, "payload": None}
