"""How far everything has come, and what is wrong: as `verdict status` and whoever else shows it."""
