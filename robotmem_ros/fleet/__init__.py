"""Bring the memories of many robots into one PostgreSQL database, and ask all of them. See docs/fleet.md.

A robot works on its own file, and this room sends what changes there. It needs the package psycopg.
"""
