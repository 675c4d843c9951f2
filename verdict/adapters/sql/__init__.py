"""SQL on both databases: sessions, statements, and whose tables and views are whose."""
