"""All events that there ever were, from the archive and Kafka, and which records are skipped."""
