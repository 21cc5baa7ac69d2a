"""The console: a page and a REST interface over one memory, on FastAPI and uvicorn; without ROS.

`guard.py` uses neither of them, so that other servers can use it as well.
"""
