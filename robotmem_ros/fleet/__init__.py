"""A fleet: the memories of many robots in one PostgreSQL database. See docs/fleet.md.

A robot works on its own file, and this room sends what changes there. It needs the package psycopg.
"""
