"""Records of Kafka on their way to the tables: read, decoded and applied, batch by batch."""
