"""Everything that runs on one machine: broker, jars, Spark session."""
