"""The ROS 2 side: parameters, services and topics around `robotmem_ros.memory`. `memory_node` wires it up.

docs/architecture.md has the way of a message and of a request through these files, and the thread that takes each step.
"""
