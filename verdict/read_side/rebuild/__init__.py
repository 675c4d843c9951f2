"""A projection built again next to the live one, compared with it, and made the live one."""
