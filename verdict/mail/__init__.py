"""The weekly mail: recorded once, claimed with leases, delivered."""
