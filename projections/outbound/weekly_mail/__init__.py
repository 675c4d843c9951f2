"""The weekly mail: each client who held US stock at the end of a week learns how many positions.

`verb` is the command line, `worker` what it does, and `settings` what can be chosen.
"""
