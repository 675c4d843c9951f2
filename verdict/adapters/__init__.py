"""Other systems: Kafka, Spark, SQL databases, storage and this machine; nothing of aggregates."""
