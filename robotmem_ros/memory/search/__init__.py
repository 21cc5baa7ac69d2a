"""From a query to its result: `recall` runs the stages in order, each in one file.

Timelines, counts and densities ask the same table under the same conditions: `selection` gives the rows that meet them.
"""
