"""Budgets of a memory, and which memories go when one is exceeded."""
