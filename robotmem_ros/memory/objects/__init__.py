"""Objects: sightings with a label and a position that stand for one thing in the world."""
