"""Run the command `robotmem`."""
