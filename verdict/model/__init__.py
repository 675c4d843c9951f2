"""What a domain is made of: commands, events, rules, and the values around them."""
