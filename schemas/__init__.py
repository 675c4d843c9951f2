"""The contract: events, envelopes, topics and bytes. Imports nothing of ours."""
