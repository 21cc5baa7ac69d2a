"""The memory of another robot."""

from __future__ import annotations

from robotmem_ros.memory import RobotMemory

from .clock import NOW, SECOND


def fill_forklift(memory: RobotMemory) -> None:
    """Fill the memory of a forklift: two collections, an object that was seen twice, and an open session."""
    session = memory.start_session().session_id
    memory.learn("the red pallet is heavy", tags=["pallet"], session_id=session, observed_at=NOW)
    seen = NOW + SECOND
    memory.save_perception("a red pallet", label="pallet", pose=(1, 2, 0), data=b"\1", observed_at=seen)
    memory.save_perception("a red pallet", label="pallet", pose=(1, 2, 0), observed_at=seen + SECOND)
    memory.learn("the ramp is steep", collection="hall", observed_at=NOW + 3 * SECOND)
    memory.flush()
