"""The console: a page and a REST interface over one memory, on FastAPI and uvicorn; without ROS.

`guard.py` uses neither of them but Starlette alone, so that the MCP server can use it as well.
"""
