"""The ROS 2 side: parameters, services and topics around `robotmem_ros.memory`. `memory_node` wires it up.

The way of a message, and the thread that takes each step:

    memory-perceptions   ~/perception: check the message and queue it for the writer (`perception_topic`)
    memory-topics        configured topics: queue the bytes (`topics`)
    memory-ring          `ring_topics`: keep the bytes of the last seconds in RAM (`ring_topics`)
    executor             /tf, localisation: queue the bytes before all else (`transforms`, `live_intake`)
    memory-intake        read what is queued, sample, wait for transforms, store (`intake_worker`, then `perception`)
    robotmem-writer      commit many at once, after which they are counted as stored

When the writer does not keep up, ~/perception drops and counts. For configured topics `queue_policy` decides: drop and
count, or pause, and messages stay with the middleware. What its history pushes out is counted too (`subscriptions`).

The way of a request:

    memory-requests      take the request, convert it and hand it on (`services`)
    memory-service       what waits for something: recall, learn, sessions
    robotmem-writer      save_perception
                         the thread that has the result fills the response (`messages`) and sends it

The executor of the node also runs lifecycle, parameters and timers (status, diagnostics, markers). Each thread that
takes requests or messages has an executor of its own (`executors`). Queries go first: whoever takes or writes many
messages yields to them.
"""
