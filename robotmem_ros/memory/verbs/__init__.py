"""Verbs of one thing each, which hang on a memory by its name: maps, notes, imports, tags, sessions."""
