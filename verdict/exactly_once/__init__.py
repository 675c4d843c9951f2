"""One Kafka transaction per batch: outputs and marker together, by one owner, exactly once.

`owner.take_over` decides whether a checkpoint may go on and makes this process the owner;
the `publisher.Publisher` it returns publishes batch after batch. The decider and every
processor use the same mechanism, each under its own name.
"""
