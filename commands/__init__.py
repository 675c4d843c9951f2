"""What may be asked: command types, and the client that sends them and awaits the outcome."""
