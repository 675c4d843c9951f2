"""Event-sourced CQRS on Kafka, Spark and SQL: every command gets exactly one verdict."""
