"""Everything that there ever was, whether Kafka still has it or the archive alone."""
