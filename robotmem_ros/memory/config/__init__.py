"""Settings: the table of parameters, the parameter file, budgets and label rules."""
