"""What must hold of a memory, as values that explain themselves to SQL and to Python; they know no database."""
