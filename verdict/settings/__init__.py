"""What can be set, where it is set, and whether it can work."""

IVY_SETTINGS = "VERDICT_IVY_SETTINGS"  # a variable that is read where there are no settings yet
