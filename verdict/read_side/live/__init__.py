"""Records of Kafka on their way to the projections: decoded by Spark, batch by batch."""
