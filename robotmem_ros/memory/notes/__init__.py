"""What people wrote down for the robot: folders of Markdown and text, recalled with file and line."""
