"""The ROS 2 side: parameters, services and topics around `robotmem_ros.memory`."""
