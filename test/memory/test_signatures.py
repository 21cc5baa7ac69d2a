"""The written signatures of the verbs: in step with the table of their arguments, and known to editors and checkers."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

import jedi
import pytest

from robotmem_ros.memory import RobotMemory
from robotmem_ros.memory.models import MemoryUpdate, NewFact, NewPerception
from robotmem_ros.memory.search.request import CountsRequest, RecallRequest, TimelineRequest
from robotmem_ros.memory.verbs.requests import ForgetRequest, GetMemoriesRequest, PurgeRequest
from robotmem_ros.memory.verbs.sessions import Sessions
from robotmem_ros.memory.verbs.tags import Tags

REPOSITORY = Path(__file__).parents[2]
REQUESTS = {
    "learn": NewFact, "save_perception": NewPerception, "update": MemoryUpdate, "recall": RecallRequest,
    "timeline": TimelineRequest, "counts": CountsRequest, "forget": ForgetRequest, "get_memories": GetMemoriesRequest,
    "purge": PurgeRequest,
}  # fmt: skip
OTHERS: Mapping[str, Callable[..., object]] = {
    "density": RobotMemory.density, "start_session": Sessions.start, "end_session": Sessions.end,
    "sessions.latest": Sessions.latest, "sessions.open": Sessions.open, "tags.rename": Tags.rename,
    "tags.all": Tags.all,
}  # fmt: skip
BEGINNING = """from typing import Any

from robotmem_ros.memory import RobotMemory

memory = RobotMemory(":memory:")
value: Any = None
"""


def parameters_of(verb: str) -> list[inspect.Parameter]:
    function = OTHERS.get(verb) or getattr(RobotMemory, verb)
    return list(inspect.signature(function).parameters.values())[1:]


def test_the_verbs_are_written_out_as_their_requests_say() -> None:
    script = REPOSITORY / "scripts" / "render_arguments.py"
    result = subprocess.run([sys.executable, script, "--check"], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr


@pytest.mark.parametrize("verb", REQUESTS)
def test_a_signature_is_that_of_its_request(verb: str) -> None:
    assert parameters_of(verb) == list(inspect.signature(REQUESTS[verb]).parameters.values())


@pytest.mark.parametrize("verb", REQUESTS)
def test_help_tells_about_each_argument_with_an_example(verb: str) -> None:
    text = " ".join(inspect.getdoc(getattr(RobotMemory, verb)).split())  # type: ignore[union-attr]
    for name in (parameter.name for parameter in parameters_of(verb)):
        assert f" {name}: " in text
        example = text.partition(f"Example: {name}=")[2]
        compile(example.partition(f" {following(verb, name)}: ")[0].partition(" Raises:")[0], name, "eval")
    assert text.index(" Args: ") < text.index(" Raises: ")


def following(verb: str, name: str) -> str:
    names = [parameter.name for parameter in parameters_of(verb)]
    return [*names[1:], "Raises"][names.index(name)]


def mypy(path: Path) -> Iterable[int]:
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "--hide-error-context", str(path)],
        cwd=REPOSITORY, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert not run.stderr
    return [int(line.split(":")[1]) for line in run.stdout.splitlines() if " error: " in line]


def pyright(path: Path) -> Iterable[int]:
    project = path.with_name("pyrightconfig.json")
    project.write_text(json.dumps({"include": [path.name], "extraPaths": [str(REPOSITORY)]}))
    run = subprocess.run(
        [sys.executable, "-m", "basedpyright", "--outputjson", "--level", "error", "--project", str(project)],
        capture_output=True, text=True, check=False,
    )  # fmt: skip
    return [entry["range"]["start"]["line"] + 1 for entry in json.loads(run.stdout)["generalDiagnostics"]]


@pytest.mark.parametrize("check", [pytest.param(mypy, marks=pytest.mark.rare), pyright])
def test_type_checkers_know_each_keyword_and_reject_a_wrong_one(
    check: Callable[[Path], Iterable[int]], tmp_path: Path
) -> None:
    lines = BEGINNING.splitlines()
    wrong_lines = set()
    for verb in (*REQUESTS, *OTHERS):
        keywords = ", ".join(f"{parameter.name}=value" for parameter in parameters_of(verb))
        lines += [f"memory.{verb}({keywords})", f"memory.{verb}({keywords}, wrong=value)"]
        wrong_lines.add(len(lines))
    lines.append(
        'memory.recall("mug", near=(1, 2.5), spatial_sort=[0, 0, 0], after="1 hour ago", labels="mug").to_dicts()'
    )
    lines.append('memory.recall(n="five")')
    path = tmp_path / "program.py"
    path.write_text("\n".join(lines) + "\n")
    assert set(check(path)) == {*wrong_lines, len(lines)}


@pytest.mark.parametrize("verb", [*REQUESTS, *OTHERS])
def test_notebooks_complete_each_keyword(verb: str) -> None:
    code = f"{BEGINNING}memory.{verb}("
    script = jedi.Script(code, project=jedi.Project(REPOSITORY))
    line = code.count("\n") + 1
    keywords = {entry.name for entry in script.complete(line) if entry.name.endswith("=")} - {"self="}
    assert keywords == {f"{parameter.name}=" for parameter in parameters_of(verb)}


def test_notebooks_know_what_a_recall_returns() -> None:
    code = f'{BEGINNING}memory.recall("mug").'
    script = jedi.Script(code, project=jedi.Project(REPOSITORY))
    assert {"hits", "reason", "to_dicts"} <= {entry.name for entry in script.complete(code.count("\n") + 1)}
