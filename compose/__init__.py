"""How the parts run together: command line, settings, processes."""
