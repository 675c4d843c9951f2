"""The read side, running: all projections brought forward, batch by batch."""
