"""The lake: rows that follow from events, masked, as Parquet files that Spark writes.

A batch goes to a folder named after its place in Kafka: it is written where no reader looks, put in
place by one rename, and then the progress record moves on. What a killed process left is replaced.
"""
