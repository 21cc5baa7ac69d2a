"""Deleting for good: what is chosen, how it goes, and how no trace of it stays."""
