"""A memory for language-model agents: one table of tools, a digest, and the server that offers them by MCP."""
