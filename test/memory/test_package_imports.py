"""Large packages are imported one after the other, whichever threads need them."""

from __future__ import annotations

from pathlib import Path

from ..support.forks import output_of

USE = """
import sys
from robotmem_ros.memory import RobotMemory, open_memory
from robotmem_ros.memory.threads import importing

PACKAGES = {"onnxruntime", "jieba", "icu4py", "markdown_it"}

class Watch:
    def find_spec(self, name, path=None, target=None):
        if name in PACKAGES:
            seen[name] = importing._is_owned()

seen = {}
sys.meta_path.insert(0, Watch())
notes = sys.argv[1] + "/notes"
with open_memory(sys.argv[1] + "/memory.db", notes_folders=[notes]) as memory:
    memory.save_perception("杯子在架子上")
    memory.warm_up()
    memory.flush()
    memory.recall("ที่ชาร์จอยู่ที่ไหน")
print(sorted(seen), set(seen.values()))
"""


def test_a_thread_that_imports_a_large_package_holds_the_lock(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "rules.md").write_text("# Rules\n\nDock by ten.\n")
    assert output_of(USE, tmp_path) == "['icu4py', 'jieba', 'markdown_it', 'onnxruntime'] {True}\n"


CHINESE = """
import sys
from robotmem_ros.memory import RobotMemory

with RobotMemory(sys.argv[1] + "/memory.db", embedding_model="") as memory:
    memory.warm_up()
    memory.save_perception("a mug in an English sentence, un café")
    memory.flush()
    print("jieba" in sys.modules, end=" ")
    memory.save_perception("红色杯子在架子上")
    memory.warm_up()
    print("jieba" in sys.modules, memory.recall("红色杯子").memories[0].content)
"""


def test_the_dictionary_of_chinese_is_loaded_once_a_text_is_chinese(tmp_path: Path) -> None:
    assert output_of(CHINESE, tmp_path) == "False True 红色杯子在架子上\n"
