"""Configuration: the table of parameters, parameter files, budgets and label rules."""
