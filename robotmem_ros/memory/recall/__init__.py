"""From a question to its answer: one file for each stage, and `pipeline`, which runs them in order."""
