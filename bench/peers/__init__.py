"""Other stores to compare with, each in a separate process and in a virtual environment without our package.

`chroma`, `emem`, `lancedb`, `qdrant_edge`, `robotmem`, `sqlite_vec` and `zvec` run there (`python3 -m
bench.peers.chroma`) and import nothing of ours but `channel` and `vector_store`. `ours` is our memory, in a separate
process too.
"""
