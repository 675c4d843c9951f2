"""What follows from what arrived or happened: one Spark query, one Kafka transaction a batch.

Records of other systems become commands, events become commands (policies) and messages for others
(notifications). It keeps no state, so its progress record says all that a restart needs.
"""
