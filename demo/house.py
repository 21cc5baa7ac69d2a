"""The house of the sample recording: its rooms, what stands in them, what the robot tries and what it is told.

Metres in the frame `map`. Nothing here is random, and nothing here knows how it is recorded.
"""

from __future__ import annotations

from dataclasses import dataclass

Point = tuple[float, float, float]


@dataclass(frozen=True)
class Room:
    """A rectangle on the floor, walls to all sides."""

    name: str
    x: tuple[float, float]
    y: tuple[float, float]

    def holds(self, x: float, y: float) -> bool:
        """Tell whether a point on the floor lies in this room."""
        return self.x[0] <= x < self.x[1] and self.y[0] <= y < self.y[1]


@dataclass(frozen=True)
class Thing:
    """Something to be seen. `laps` are the rounds of the patrol in which it is there."""

    description: str
    label: str
    colour: str
    room: str
    position: Point
    laps: tuple[int, ...] = (1, 2)


@dataclass(frozen=True)
class Attempt:
    """Something that the robot tries with a force, in newtons, once in a visit to a room."""

    lap: int
    room: str
    task: str
    target: str
    place: str
    force: float

    @property
    def outcome(self) -> str:
        """Describe the result in words."""
        low, high = _GOOD_FORCE[self.task, self.target]
        too_weak, right, too_strong = _OUTCOMES[self.task]
        return too_weak if self.force <= low else right if self.force < high else too_strong

    @property
    def success(self) -> bool:
        """Tell whether the force was right: neither too weak nor too strong."""
        low, high = _GOOD_FORCE[self.task, self.target]
        return low < self.force < high


@dataclass(frozen=True)
class Remark:
    """Something heard, felt, read or learned, once in a visit to a room."""

    lap: int
    room: str
    sense: str
    text: str
    about: str


ROOMS = (
    Room("kitchen", (0.0, 5.0), (0.0, 4.0)),
    Room("bedroom", (0.0, 5.0), (4.0, 9.0)),
    Room("hall", (5.0, 7.5), (0.0, 9.0)),
    Room("living room", (7.5, 14.0), (0.0, 5.0)),
    Room("study", (7.5, 14.0), (5.0, 9.0)),
)

DOCK = (6.2, 0.8)
"""Where the patrol begins."""
END = (6.3, 2.3)
"""Where the patrol ends, in the hall."""

LAP = (
    *((6.2, 1.8), (5.0, 2.0), (3.4, 2.3), (1.6, 2.7), (1.1, 1.6), (2.3, 1.0), (3.8, 1.6), (5.0, 2.0)),  # kitchen
    *((6.1, 3.2), (6.1, 5.6), (5.0, 6.5), (3.2, 6.0), (1.5, 6.6), (1.9, 7.9), (3.6, 7.4), (5.0, 6.5)),  # bedroom
    *((6.2, 6.8), (7.5, 7.0), (9.4, 7.3), (11.6, 7.8), (12.6, 6.8), (10.4, 6.2), (7.5, 7.0)),  # study
    *((6.4, 5.6), (6.4, 3.4), (7.5, 2.5), (9.4, 2.9), (11.8, 3.7), (12.8, 2.2), (10.6, 1.2), (8.6, 1.9), (7.5, 2.5)),
)
"""Way points of one round through all rooms and their doors."""

THINGS = (
    # Mugs: the planner wants a red one, and blue ones and red things of other kinds are nearer.
    Thing("a red mug on the kitchen counter", "mug", "red", "kitchen", (0.6, 3.6, 0.9)),
    Thing("a red mug on the coffee table in the living room", "mug", "red", "living room", (10.3, 2.2, 0.45)),
    Thing("a red mug next to the keyboard on the desk", "mug", "red", "study", (12.9, 8.3, 0.75)),
    Thing("a red mug on the bedside table", "mug", "red", "bedroom", (0.6, 8.2, 0.55)),
    Thing("a blue mug on the hall dresser", "mug", "blue", "hall", (7.1, 3.3, 0.85)),
    Thing("a blue mug in the kitchen sink", "mug", "blue", "kitchen", (2.4, 3.7, 0.8)),
    Thing("a green mug on the bookshelf", "mug", "green", "study", (8.2, 8.6, 1.2)),
    Thing("a white mug on the window sill", "mug", "white", "bedroom", (2.6, 8.7, 0.9)),
    Thing("a yellow mug on the kitchen table", "mug", "yellow", "kitchen", (4.1, 3.1, 0.75)),
    # The rest of the kitchen. What is there in one round only tells a question about time from one about place.
    Thing("a glass on the kitchen table", "glass", "clear", "kitchen", (3.8, 3.3, 0.75)),
    Thing("a tall glass beside the tap", "glass", "clear", "kitchen", (2.9, 3.7, 0.9)),
    Thing("a kettle on the stove", "kettle", "silver", "kitchen", (0.4, 0.9, 0.95)),
    Thing("a wooden chair at the kitchen table", "chair", "brown", "kitchen", (3.5, 2.9, 0.45)),
    Thing("a pot of basil by the kitchen window", "plant", "green", "kitchen", (1.6, 0.2, 1.0)),
    Thing("an open carton of milk on the kitchen counter", "milk", "white", "kitchen", (0.5, 2.4, 0.9), (1,)),
    Thing("a puddle of water on the kitchen floor", "puddle", "clear", "kitchen", (1.9, 3.2, 0.0), (1,)),
    Thing("a bowl of apples on the kitchen counter", "bowl", "red", "kitchen", (0.5, 1.7, 0.9), (2,)),
    Thing("a frying pan on the stove", "pan", "black", "kitchen", (0.4, 1.3, 0.95), (2,)),
    # The hall.
    Thing("a red umbrella in the stand by the front door", "umbrella", "red", "hall", (7.2, 0.6, 0.4)),
    Thing("a fire extinguisher on the hall wall", "extinguisher", "red", "hall", (5.2, 4.6, 1.0)),
    Thing("the house keys on the hall dresser", "keys", "silver", "hall", (7.1, 3.7, 0.85), (1,)),
    Thing("a pair of muddy boots on the door mat", "boots", "brown", "hall", (6.8, 0.3, 0.1)),
    Thing("a tall fern at the end of the hall", "plant", "green", "hall", (6.4, 8.6, 0.5)),
    Thing("a coat on the hall floor", "coat", "grey", "hall", (5.5, 7.6, 0.0), (2,)),
    # The living room.
    Thing("a red armchair facing the television", "chair", "red", "living room", (8.4, 3.9, 0.4)),
    Thing("the house keys on the arm of the sofa", "keys", "silver", "living room", (12.9, 3.4, 0.6), (2,)),
    Thing("a glass on the side table next to the sofa", "glass", "clear", "living room", (13.4, 2.9, 0.5)),
    Thing("a rubber plant beside the sofa", "plant", "green", "living room", (13.5, 4.4, 0.6)),
    Thing("the television remote under a cushion", "remote", "black", "living room", (12.2, 4.4, 0.5)),
    Thing("a cat asleep on the carpet", "cat", "orange", "living room", (11.2, 2.6, 0.1), (2,)),
    Thing("a vase of tulips on the window sill", "vase", "yellow", "living room", (11.0, 0.2, 0.9)),
    # The study.
    Thing("an office chair pushed under the desk", "chair", "black", "study", (12.4, 7.6, 0.5)),
    Thing("a laptop with its lid open on the desk", "laptop", "grey", "study", (12.5, 8.4, 0.75)),
    Thing("a stack of books on the study floor", "books", "mixed", "study", (9.2, 5.4, 0.1)),
    Thing("a cactus on the bookshelf", "plant", "green", "study", (8.7, 8.6, 1.2)),
    Thing("a pair of scissors on the desk", "scissors", "orange", "study", (13.3, 8.2, 0.75), (1,)),
    # The bedroom.
    Thing("a pair of reading glasses on the bedside table", "spectacles", "black", "bedroom", (0.5, 7.9, 0.55)),
    Thing("a phone charging on the bedside table", "phone", "black", "bedroom", (0.7, 7.7, 0.55)),
    Thing("a laundry basket at the foot of the bed", "basket", "white", "bedroom", (3.9, 4.6, 0.3)),
    Thing("a red sock under the bed", "sock", "red", "bedroom", (1.6, 5.1, 0.0)),
    Thing("a folding chair behind the bedroom door", "chair", "grey", "bedroom", (4.6, 8.2, 0.5)),
)

_OUTCOMES = {
    "grasp": ("it slipped out of the gripper", "it held firmly", "it cracked"),
    "open": ("it did not move", "it opened", "the latch gave an ugly sound"),
}
_GOOD_FORCE = {
    ("grasp", "glass"): (10.0, 15.0),
    ("grasp", "cup"): (5.0, 20.0),
    ("grasp", "bottle"): (16.0, 30.0),
    ("open", "bedroom door"): (18.0, 40.0),
    ("open", "study door"): (35.0, 60.0),
    ("open", "fridge"): (12.0, 40.0),
}

ATTEMPTS = (
    Attempt(1, "kitchen", "grasp", "glass", "on the kitchen table", 8.0),
    Attempt(1, "kitchen", "grasp", "glass", "on the kitchen table", 18.0),
    Attempt(1, "kitchen", "grasp", "cup", "on the kitchen counter", 9.0),
    Attempt(1, "kitchen", "open", "fridge", "in the kitchen", 11.0),
    Attempt(1, "kitchen", "open", "fridge", "in the kitchen", 14.0),
    Attempt(1, "bedroom", "open", "bedroom door", "off the hall", 22.0),
    Attempt(1, "bedroom", "grasp", "bottle", "on the bedside table", 13.0),
    Attempt(1, "study", "open", "study door", "off the hall", 28.0),
    Attempt(1, "living room", "grasp", "glass", "on the side table", 9.5),
    Attempt(1, "living room", "grasp", "glass", "on the side table", 12.5),
    Attempt(2, "kitchen", "grasp", "glass", "beside the tap", 11.0),
    Attempt(2, "kitchen", "grasp", "cup", "on the kitchen counter", 6.0),
    Attempt(2, "kitchen", "grasp", "cup", "on the kitchen counter", 4.5),
    Attempt(2, "bedroom", "grasp", "bottle", "on the bedside table", 19.0),
    Attempt(2, "study", "grasp", "cup", "on the desk", 13.0),
    Attempt(2, "living room", "grasp", "glass", "on the side table", 16.0),
    Attempt(2, "living room", "grasp", "glass", "on the side table", 14.0),
)

REMARKS = (
    Remark(1, "kitchen", "visual", "厨房水槽下面在漏水,地上有一滩水", "leak"),
    Remark(1, "kitchen", "procedural", "抓玻璃杯的时候力度要小于15牛,不然杯子会裂", "glass"),
    Remark(1, "hall", "auditory", "the doorbell rang twice", "doorbell"),
    Remark(1, "bedroom", "visual", "卧室的窗户开着,窗帘被风吹动", "window"),
    Remark(1, "study", "tactile", "the carpet edge in the study caught the left wheel", "carpet"),
    Remark(1, "living room", "visual", "客厅的灯一直在闪", "lamp"),
    Remark(2, "kitchen", "auditory", "the dishwasher is running", "dishwasher"),
    Remark(2, "hall", "proprioceptive", "the battery is down to 38 percent", "battery"),
    Remark(2, "bedroom", "procedural", "slow down before the bedroom threshold, the tray shakes there", "threshold"),
    Remark(2, "study", "visual", "书房的桌子上放着一把剪刀,使用后请收好", "scissors"),
    Remark(2, "living room", "procedural", "go round the cat on the left, the sofa side is too narrow", "cat"),
)
