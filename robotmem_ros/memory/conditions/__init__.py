"""What must hold of a memory, as values that ask a table of columns, or one memory; they know no database."""
