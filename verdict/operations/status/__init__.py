"""The status of a deployment: how far each component has come, and what needs attention."""
