"""Learn facts: classify a fact, compare it with known ones, store or merge it."""
