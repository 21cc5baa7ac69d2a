"""Named areas of the map, and the memories that lie in them."""
