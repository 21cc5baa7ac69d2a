"""From text to the words that are indexed and searched."""
