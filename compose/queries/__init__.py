"""Under which names Kafka and the markers know each query of Spark; light, for who only looks."""
