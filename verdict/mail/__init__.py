"""The weekly mail to those who hold US stock: recorded once, claimed with leases, delivered."""
