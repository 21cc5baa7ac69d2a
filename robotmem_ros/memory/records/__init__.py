"""The values that the tables keep, a file for each subject; what a room makes of them is in that room."""
