"""The command `robotmem`."""
