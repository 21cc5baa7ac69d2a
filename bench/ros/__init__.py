"""The node in a process of its own, and what talks to it over the real graph."""
