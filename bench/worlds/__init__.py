"""Worlds made from a seed, and the queries that are run on them."""
