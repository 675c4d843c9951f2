"""What runs beside the decider and keeps no state: reactions, and the lake.

A processor is never rebuilt: what it sent was sent. Its marker in Kafka is all a restart needs.
"""
