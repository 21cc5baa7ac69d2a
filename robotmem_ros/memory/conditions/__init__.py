"""What must hold of a memory, as values that explain themselves to SQL, to RAM and to Python; they know no database."""
