"""Make facts to learn: in English and in Chinese as robots do, and collections that are hard to search.

Of the hard ones, `one thing` has facts that differ in one number, `few words` has sets of a few words in many sizes,
and `one more word` has facts that all hold the words of one fact, each with another word.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

_VERBS = (
    "Hold", "Push", "Lift", "Turn", "Open", "Grasp", "Carry", "Place", "Rotate", "Inspect", "Lower", "Approach",
)  # fmt: skip
_STATES = (
    "wet", "heavy", "fragile", "tall", "thin", "round", "dusty", "warm", "loaded", "oily", "scratched", "labelled",
)  # fmt: skip
_THINGS = (
    "glass", "mug", "plate", "bottle", "crate", "door", "valve", "pump", "lamp", "egg", "carton", "drawer",
    "shelf", "cart", "pallet", "rope", "hose", "drum",
)  # fmt: skip
_PLACES = (
    "near the dock", "on the ramp", "beside the conveyor", "under the bridge", "at the loading bay", "by the charger",
    "behind the fence", "in aisle four", "along the wall", "next to the elevator", "in the kitchen", "at gate 3",
)  # fmt: skip
_REASONS = (
    "because the floor reflects light", "since the sensor drifts", "as the grip loosens", "when people pass",
    "while the battery is low", "because the wheel slips", "since the map is outdated", "as the camera saturates",
    "when the lid sticks", "while the motor heats up", "until the light turns", "because the cable is short",
)  # fmt: skip
_HAN_VERBS = ("抓取", "推动", "抬起", "旋转", "打开", "放置", "检查", "搬运", "靠近", "放下")
_HAN_STATES = ("湿的", "重的", "易碎的", "高的", "薄的", "圆的", "脏的", "热的")
_HAN_THINGS = ("杯子", "瓶子", "玻璃", "抽屉", "阀门", "水泵", "灯", "鸡蛋", "纸箱", "托盘", "绳子", "软管")
_HAN_PLACES = ("在充电桩旁边", "在坡道上", "在传送带附近", "在走廊里", "靠近电梯", "在仓库里", "在厨房", "在三号门")
_HAN_REASONS = (
    "因为地面反光", "由于传感器漂移", "因为轮子打滑", "当有人经过时", "由于电量低", "因为相机过曝",
    "由于地图过时",
)  # fmt: skip
_SYLLABLES = ("ka", "lo", "mi", "ru", "tan", "vek", "sil", "dor")
_WORDS = [first + second for first in _SYLLABLES[:3] for second in _SYLLABLES]


def english(dice: random.Random, _: int) -> str:
    """Make a fact as robots do."""
    force = dice.randint(10, 300) / 10
    action = f"{dice.choice(_VERBS)} the {dice.choice(_STATES)} {dice.choice(_THINGS)}"
    return f"{action} {dice.choice(_PLACES)} with {force:g} N {dice.choice(_REASONS)}"


def chinese(dice: random.Random, _: int) -> str:
    """Make such a fact in Chinese."""
    force = dice.randint(10, 300) / 10
    action = f"{dice.choice(_HAN_PLACES)}{dice.choice(_HAN_VERBS)}{dice.choice(_HAN_STATES)}{dice.choice(_HAN_THINGS)}"
    return f"{action}用{force:g}N的力，{dice.choice(_HAN_REASONS)}"


def one_thing(_: random.Random, number: int) -> str:
    """Make a fact with another value of one thing."""
    return f"Hold the wet glass near the dock with {number / 100:g} N because the floor reflects light"


def few_words(dice: random.Random, _: int) -> str:
    """Make a text of six to twelve of 24 words."""
    return " ".join(dice.sample(_WORDS, dice.randint(6, 12)))


def one_more_word(dice: random.Random, number: int) -> str:
    """Make a text of the words of one fact and another word; one in a thousand has a unique number instead."""
    extra = f"with {number} N" if number % 1000 == 999 else f"as {_name(number)} did"
    return f"Lift the oily drum beside the conveyor while the motor heats up {extra}"


def _name(number: int) -> str:
    digits = ""
    while number:
        number, digit = divmod(number, len(_SYLLABLES))
        digits += _SYLLABLES[digit]
    return f"op{digits}"


WORLDS: Mapping[str, Callable[[random.Random, int], str]] = {
    "English": english,
    "Chinese": chinese,
    "one thing": one_thing,
    "few words": few_words,
    "one more word": one_more_word,
}
"""Functions that make a fact from dice and its number."""
