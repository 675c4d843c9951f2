"""One Kafka transaction per batch: outputs and progress together, by one owner, exactly once.

`fencing.claim_query` makes this process the owner, if the checkpoint continues where the progress
record
ends (`resume`). The `publisher.Publisher` that it returns publishes batch after batch; `doubt` is
entered only after a transaction failed. The decider and every processor use the same mechanism,
each under a name of its own; queries without state begin with `restart`.
"""
