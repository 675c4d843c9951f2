"""Read models: tables and outbound topics that follow from events."""
