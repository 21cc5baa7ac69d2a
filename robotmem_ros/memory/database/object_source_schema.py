"""What saw an object: a JSON object of each source, such as a topic, to the tracking id that it gave last, or ""."""

OBJECT_SOURCES = """
ALTER TABLE objects ADD COLUMN sources TEXT NOT NULL DEFAULT '{}';
"""
"""The step that adds the sources of objects to a database; older objects have none until they are seen again."""
