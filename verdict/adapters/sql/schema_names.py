"""The schemas of a PostgreSQL database; SQLite has none."""

TABLES = "projections"
VIEWS = "public"
