"""The vocabulary of tags over services."""

from __future__ import annotations

from robotmem_ros.srv import AddTag, Learn, ListTags, Recall, RemoveTag, RenameTag

from ..support.node.graph import Client


def test_tags_are_added_listed_renamed_and_removed(client: Client) -> None:
    collection = "tags over services"
    learned = client.call(
        Learn, "learn", insight="milk stands in the door of the fridge", tags=["Fridge"], collection=collection
    )
    assert list(learned.tags) == ["fridge"]
    for tag, parent in (("Kitchen", ""), ("FRIDGE", "kitchen")):
        added = client.call(AddTag, "add_tag", tag=tag, parent=parent)
        assert (added.success, added.error) == (True, "")
    found = client.call(Recall, "recall", tags=["KITCHEN"], collection=collection).memories
    assert [memory.id for memory in found] == [learned.memory_id]
    listed = {tag.tag: tag for tag in client.call(ListTags, "list_tags", collection=collection).tags}
    assert (listed["fridge"].parent, listed["fridge"].display_name, listed["fridge"].memories) == (
        "kitchen", "FRIDGE", 1,
    )  # fmt: skip
    refused = client.call(AddTag, "add_tag", tag="kitchen", parent="fridge")
    assert (refused.success, refused.error) == (
        False, "parent: 'fridge' stands under 'kitchen' itself, so it cannot stand above it",
    )  # fmt: skip
    shown = client.call(RenameTag, "rename_tag", tag="fridge", new_tag="Icebox", dry_run=True)
    renamed = client.call(RenameTag, "rename_tag", tag="fridge", new_tag="Icebox")
    assert (shown.memories, renamed.memories, renamed.merged) == (1, 1, False)
    (memory,) = client.call(Recall, "recall", tags=["icebox"], collection=collection).memories
    assert list(memory.tags) == ["icebox"]
    assert client.call(RemoveTag, "remove_tag", tag="icebox").memories == 1
    assert client.call(RemoveTag, "remove_tag", tag="kitchen").success
    (memory,) = client.call(Recall, "recall", query="milk", collection=collection).memories
    assert list(memory.tags) == []
