"""All spellings of a label are one label, wherever it is compared; the one given most is shown."""

from __future__ import annotations

import math
import unicodedata
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from robotmem_ros.memory import FieldOfView, InvalidFieldError, RobotMemory
from robotmem_ros.memory.objects.field_of_view import Detection
from robotmem_ros.memory.text.normal_form import label_key

from ...support.sightings import SECOND, see, sighting, the, undetected
from ..conftest import OpenMemory

COMPOSED = "Café  lamp"
DECOMPOSED = unicodedata.normalize("NFD", COMPOSED)
FORMS = (COMPOSED, DECOMPOSED, "CAFÉ LAMP", "café\u00a0lamp", f" {DECOMPOSED.upper()} ")
VIEW = FieldOfView((0.0, 0.0, 0.0), (1.0, 0.0, 0.0), 500 * SECOND, 5.0, math.pi / 2, 1.0)


@pytest.mark.parametrize("form", FORMS)
def test_all_spellings_of_a_label_have_one_key(form: str) -> None:
    assert label_key(form) == "café lamp"


@given(label=st.text(max_size=20))
def test_a_key_is_its_own_key_and_that_of_other_forms(label: str) -> None:
    key = label_key(label)
    assert label_key(key) == key
    for form in ("NFC", "NFD"):
        assert label_key(unicodedata.normalize(form, label)) == key
    assert label_key(f"  {label} ") == key


def test_sightings_under_any_form_of_a_label_are_of_one_object(memory: RobotMemory) -> None:
    for t, form in enumerate(FORMS):
        assert see(memory, sighting(1.0, t=t, label=form.strip())) == [1]
    assert [found.label for found in memory.objects()] == [COMPOSED]
    assert {found.label for found in memory.object_history(1)} == {form.strip() for form in FORMS}


def test_an_object_shows_its_label_in_the_form_in_which_it_was_given_most(memory: RobotMemory) -> None:
    for t, label in enumerate(("Mug", "mug", "mug", "MUG")):
        see(memory, sighting(1.0, t=t, label=label))
    assert the(memory, 1).label == "mug"
    assert len(memory.recall("mug")) == 1


def test_a_condition_on_a_label_finds_all_its_forms_and_nothing_else(memory: RobotMemory) -> None:
    ids = [memory.save_perception("a lamp", label=form).memory_id for form in FORMS]
    other = memory.save_perception("another lamp", label="lamp").memory_id
    for form in FORMS:
        for wanted in (form, {"$eq": form}, {"$in": ["vase", form]}, {"$gte": form, "$lte": form}):
            found = memory.recall(context_filter={"label": wanted}, n=100, fold=False)
            assert sorted(one.id for one in found) == ids
        assert [one.id for one in memory.recall(context_filter={"label": {"$ne": form}}, n=100)] == [other]
    assert [one.memory.label for one in memory.recall(context_filter={"id": ids[1]})] == [DECOMPOSED]
    assert len(memory.recall(context_filter={"label": "café lam"})) == 0


def test_radii_and_confusions_are_of_all_forms_of_their_labels(open_memory: OpenMemory) -> None:
    memory = open_memory(object_radii=f"TABLE: 1.5, {DECOMPOSED}: 0.1", object_confusions="Mug = CUP")
    assert see(memory, sighting(0.0, label="table")) + see(memory, sighting(1.4, label="Table")) == [1, 1]
    assert see(memory, sighting(5.0, label=COMPOSED)) + see(memory, sighting(5.2, label=COMPOSED)) == [2, 3]
    assert see(memory, sighting(9.0, label="mug")) + see(memory, sighting(9.1, label="Cup")) == [4, 4]


@pytest.mark.parametrize(
    ("name", "text"), [("object_radii", "mug: 1, Mug: 2"), ("object_confusions", "mug = cup, MUG = glass")]
)
def test_a_label_that_is_given_twice_in_two_forms_is_refused(name: str, text: str) -> None:
    with pytest.raises(InvalidFieldError, match=f"(?i){name}: 'mug' is given twice"):
        RobotMemory(":memory:", embedding_model="", **{name: text})  # type: ignore[arg-type]


def test_votes_for_two_forms_of_a_label_count_together(open_memory: OpenMemory) -> None:
    memory = open_memory(object_confusions="mug = cup")
    for t, label in enumerate(("cup", "cup", "Mug", "mug", "MUG")):
        see(memory, sighting(1.0, t=t, label=label))
    assert label_key(the(memory, 1).label) == "mug"


def test_a_view_names_labels_in_any_form(memory: RobotMemory) -> None:
    see(memory, sighting(2.0, label="Mug"))
    detection = Detection("MUG", (2.1, 0.0, 0.0))
    assert undetected(memory, replace(VIEW, detections=(detection,))) == ()
    assert undetected(memory, replace(VIEW, labels=frozenset({"chair"}))) == ()
    assert undetected(memory, replace(VIEW, labels=frozenset({"mUg"}))) == (1,)


def test_a_session_counts_objects_by_label_whatever_its_form(memory: RobotMemory) -> None:
    session = memory.start_session().session_id
    stamp = memory.decay().now / SECOND
    see(memory, sighting(1.0, t=stamp, label="Mug"), sighting(5.0, t=stamp, label="mug"))
    assert memory.end_session(session).objects == {"Mug": 2}
