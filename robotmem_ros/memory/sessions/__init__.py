"""Sessions: the episodes of a robot, from their start to what is learned from how they ended."""
