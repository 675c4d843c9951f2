"""What runs beside the decider and keeps no state: reactions, and the lake.

A processor is never rebuilt: what it sent was sent. Its progress record in Kafka is all a restart
needs.
"""
