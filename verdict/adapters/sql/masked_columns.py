"""Which columns our readers of SQLite, which has no roles, find empty."""

PERSONAL = "masked_"  # begins the name of a table's column that is personal as a whole
TELLS = "value"  # the column that our readers of SQLite find empty when they may not

ARCHIVE = "event_archive_v"


def is_masked(table: str, column: str) -> bool:
    """Tell whether readers of SQLite find a column empty unless they may see personal fields."""
    return column.startswith(PERSONAL) or (column == TELLS and table.startswith(ARCHIVE))
