"""Sessions, the episodes of a robot: their start, end, outcome, and the consolidation of what they learned."""
