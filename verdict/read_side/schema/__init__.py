"""Creates the schema of a database, and brings an older one up to date."""
