"""The demo: the whole path on throw-away data, told in chapters that check what they show."""
