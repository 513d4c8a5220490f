"""Graphs from and for files: import, and freezing of variables."""
