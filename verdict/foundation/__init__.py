"""What everything that runs stands on: topics that are there, a Spark session, an owner."""
