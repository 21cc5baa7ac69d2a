"""The suites, each with `add_options(parser)` and `run(options)`. `python3 -m bench` lists their docstrings."""
