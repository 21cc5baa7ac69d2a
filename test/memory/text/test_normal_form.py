"""Texts have one normal form only if they differ in nothing but form."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory.text.normal_form import digest, normal_form

SAME = [
    ("Hold the glass with 12.5 N", "  hold the GLASS with 12.5 N."),
    ("Red  mug.", "“Red mug”"),
    ("ｒｅｄ ｍｕｇ", "RED MUG!"),
    ("Put a mug on the table", "put the mug on a table"),
    ("Please open the door, slowly", "Open door (slowly)"),
    ("In fact, the lift is slow", "The lift is slow"),
    ("Don’t enter", "don't enter"),
    ("Café open", "Cafe\u0301 open"),
    ("抓取玻璃杯用 12.5 N 的力", "抓取玻璃杯用12.5N的力。"),
    ("请关上门", "关上门啊！"),
    ("其实走廊很窄", "走廊很窄"),
]
DIFFERENT = """
Never enter the storage room alone | Never enter the storage room
The nurse comes at 8 a.m. | The nurse comes at 8 p.m.
Fill at least 3 bar | Fill at most 3 bar
The robot must stop | The robot can stop
Charge at dock A | Charge at dock B
Charge at dock A | Charge at dock
Move axis x first | Move axis y first
Move axis a slowly | Move axis slowly
Use version 2.10 | Use version 2.1
The code is 007 | The code is 7
Open the gate and the lid | Open the gate or the lid
Turn left at the lab | Turn right at the lab
Open the hatch | Close the hatch
Close the valve before the pump | Close the pump before the valve
Wait for her | Wait for him
Put it on the crate | Put it in the crate
Only Anna has the key | Anna has the only key
Only lift crates | Lift crates
It may slip | It will slip
The lamp was hot | The lamp is hot
The lift was fast | The lifts were fast
Give her the keys | Give her the key
Is the door open? | The door is open
Set it to 5 mW | Set it to 5 MW
Set it to 5 m | Set it to 5 M
The pressure is 5 mPa | The pressure is 5 MPa
The tank holds 10² litres | The tank holds 102 litres
The slope is 5% | The slope is 5
The lab has - 5 °C | The lab has 5 °C
The pipe is 5" wide | The pipe is 5' wide
Stop if x != 3 | Stop if x = 3
Count 2 e3 | Count 2e3
No, stop the pump | No stop the pump
A 5 and B 6 are free | 5 and B 6 are free
A opens at 8 | Opens at 8
You must note that door | You must door
Don't. Stop the arm | Don't stop the arm
Say please at the gate | Say at the gate
请假的护士来了 | 假的护士来了
其实验室很小 | 验室很小
The room has -5 °C | The room has 5 °C
It costs 1,000 | It costs 1.000
Grasp it at .5 N | Grasp it at 5 N
Drive 1-2 m | Drive 12 m
The reading is > 3 | The reading is < 3
Call extension #12 | Call extension 12
See src/arm.py | See src/arm
Use grip_force | Use grip force
Robot R2 leads R3 | Robot R3 leads R2
Tom follows Ann | Ann follows Tom
Stop, and then turn | Turn, and then stop
Bring tea with sugar | Bring tea without sugar
Never lift it | Lift it
Always knock | Knock
Almost all crates fit | All crates fit
Knock twice | Knock once
It is too heavy | It is heavy
Enter if it is dark | Enter unless it is dark
The mug is from Anna | The mug is for Anna
Stay under 2 m/s | Stay over 2 m/s
Meet on Monday | Meet on Sunday
The résumé is here | The resume is here
Die Maße stimmen | Die Masse stimmen
Call it re-sent | Call it resent
The x is red | The X-ray is red
Nobody may pass | Anybody may pass
Store it up to 3 days | Store it 3 days
Use the first lift | Use the second lift
The map is older | The map is old
He said so | She said so
We can go there | You can go there
It works again | It works
To be or not to be | To be
Mind the gap | Mind gaps
Take pill A at 8 | Take pill B at 8
Pour 2 cups | Pour 2.0 cups
不要进入仓库 | 进入仓库
不，要打开 | 不要打开
先开阀再开泵 | 先开泵再开阀
至少三巴 | 至多三巴
早上八点送药 | 晚上八点送药
可以进入 | 必须进入
只能从左边走 | 能从左边走
向左转 | 向右转
开门和窗 | 开门或窗
他在门口等 | 她在门口等
A号充电桩坏了 | B号充电桩坏了
速度不超过2 | 速度不低于2
抽屉里有药 | 抽屉外有药
给奶奶倒茶 | 给奶奶倒了茶
"""
PAIRS = [tuple(line.split(" | ")) for line in DIFFERENT.strip().splitlines()]


@pytest.mark.parametrize(("one", "other"), SAME)
def test_texts_that_differ_only_in_form_have_one_normal_form(one: str, other: str) -> None:
    assert normal_form(one) == normal_form(other)
    assert digest(one) == digest(other)


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_texts_that_differ_in_a_word_or_number_have_different_normal_forms(one: str, other: str) -> None:
    assert normal_form(one) != normal_form(other)


def test_a_text_of_punctuation_is_its_own_normal_form() -> None:
    assert len({digest(text) for text in ("!", "?", "!!", "...", "-")}) == 5


@given(st.text(max_size=60))
def test_white_space_around_a_text_does_not_change_its_normal_form(text: str) -> None:
    assert digest(f" {text}\n") == digest(text)
