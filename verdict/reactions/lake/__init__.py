"""The lake: rows that follow from events, masked, as Parquet files that Spark writes."""
