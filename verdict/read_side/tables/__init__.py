"""The tables that the engine keeps next to those of projections."""
