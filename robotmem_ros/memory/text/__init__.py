"""Read texts: words for the index and for queries, normal forms, quantities, and statements."""
