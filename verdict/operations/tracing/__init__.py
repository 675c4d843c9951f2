"""Spans for OpenTelemetry, made afterwards of what is recorded: nothing here decides anything."""
