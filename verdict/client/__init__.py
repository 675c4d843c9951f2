"""How commands travel to Kafka, and how their outcomes come back."""
