"""The node in a separate process, and what talks to it over the real graph."""
