"""Make a site of the pages by Sphinx: `make docs`. Its navigation is in index.rst."""

project = html_title = "robotmem_ros"
html_theme = "furo"
extensions = ["myst_parser"]
include_patterns = ["index.rst", "*.md", "CHANGELOG.rst", "docs/**", "bench/results/**"]
exclude_patterns = [".*"]
# Anchors as GitHub makes them: links hold in both places. One to a file that is no page offers the file.
myst_heading_anchors = 4
nitpicky = True
