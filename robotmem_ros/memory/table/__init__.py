"""The memories of a file as columns in RAM: what each says, where its words stand, and its vector."""
