"""The read side's database: opened, and asked as readers may ask it."""
