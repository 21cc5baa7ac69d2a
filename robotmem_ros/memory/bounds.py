"""How much may be given at once, at every door: the checks and the descriptions of the doors read it here."""

from __future__ import annotations

MAX_NAMES = 256
"""Names in a condition."""
MAX_IDS = 1000
"""Ids in a condition."""
MAX_SUMMARY = 200
"""Characters of a summary, which people read at a glance."""
MAX_CONTEXT = 65_536
"""Bytes of a context, of metadata or of a filter as JSON; larger data belongs into `data`."""
MAX_DEPTH = 64
"""Objects and lists of a context within each other."""
MAX_QUERY = 2000
"""Characters of the text of a query; what is longer is a document, of which the model reads the beginning only."""
MAX_TAGS = 100
"""Tags of a memory, and names in each list that belongs to it."""
MAX_DETAILS = 100
"""Memories that are read in full at once."""
MAX_NAME = 256
"""Characters of a name, such as a label, a tag or a frame."""
