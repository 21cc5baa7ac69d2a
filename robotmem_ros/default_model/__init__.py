"""Make embedding models that compute in integers of what wheels hold."""
