"""One Kafka transaction per batch: outputs and progress together, by one owner, exactly once.

`fencing.claim_query` makes this process the owner, if the checkpoint continues where the progress
ends (`resume`). The `publisher.Publisher` that it returns publishes batch after batch. The decider
and every query without state use it, each under its own name; the latter begin with `restart`.
"""
