"""Folders that all machines of a cluster see: on a file system that they mount, or in a store."""
