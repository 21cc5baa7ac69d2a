"""The ROS 2 side: parameters, services and topics around `robotmem_ros.memory`. `memory_node` wires it up.

A message's way, and the thread that takes each step:

    executor             -                                    matched_subscription: bytes, many in one turn (draining)
    memory-perceptions   perception_topic: takes and checks   -
    memory-intake        -                                    intake_worker: a bounded queue; then `perception`: reads,
                                                              samples, transforms or lets wait, gathers, stores
    robotmem-writer      RobotMemory.store: many in one commit, after which they are counted as stored
    robotmem-maintenance the vector, of what is on disk

On the left ~/perception; on the right the configured topics, and with them /tf and the localisation. When the writer
does not keep up, perception_topic refuses and counts; for the others `queue_policy` decides: intake_worker drops and
counts, or the subscriptions pause (pausing) and messages stay with the middleware. What its history pushes out,
lost_messages counts.

A request's way:

    memory-requests      service_thread takes it, services converts it and hands it on
    memory-service       what waits for something: recall, learn, sessions
    robotmem-writer      save_perception
                         whichever of the two has the result fills the response (conversions) and sends it

Besides the configured topics the executor has what comes seldom: lifecycle, parameters, timers (status, diagnostics,
markers). Questions go first: whoever takes or writes many messages gives way to
them in between.
"""
