"""Declare every parameter in one table: name, type, default, unit, range, description.

The table drives the checks, the declarations of the node, `config/memory.yaml` and `docs/parameters.md`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from .. import validation
from ..errors import InvalidFieldError, did_you_mean
from ..fellow_robots import SIGN, is_of_another
from ..models import Kind
from ..validation import expanded_path
from .budgets import Budget, budgets
from .datum import Datum, parse_datum
from .fleet_policy import fleet_parts
from .label_rules import LabelRules, label_rules
from .notes_folders import DEFAULT_COLLECTION, NotesFolder, notes_folders, recall_kinds
from .parameter import check_value, parameter


@dataclass(frozen=True)
class Parameters:
    """Values of all parameters, checked.

    Raises:
        InvalidFieldError: a value has the wrong type or lies outside its range.
    """

    db_path: str = parameter(
        "",
        "Database file; `:memory:` keeps nothing on disk. Empty means `~/.robotmem/memory.db`, and for a node in a "
        "namespace `~/.robotmem/<namespace>/memory.db`.",
        read_only=True,
    )
    collection: str = parameter("default", "Namespace of memories that do not name one.")
    embedding_model: str = parameter(
        "multilingual-e5-small",
        "`multilingual-e5-small`, or `small` for a weak computer and English alone. Or a folder of an ONNX model, one "
        "of `~/.robotmem/models` by name, a model that FastEmbed knows, or one of a service: `ollama:NAME`, "
        "`openai:NAME`, `gemini:NAME`. Of several, separated by commas, the first that answers is used; `auto` stands "
        "for the default model and then the three services. Empty or `none` disables.",
        read_only=True,
    )
    embedding_url: str = parameter(
        "",
        "Address of the first service in `embedding_model`. Empty means that of the environment (`OLLAMA_HOST`, "
        "`OPENAI_BASE_URL`, `GEMINI_BASE_URL`), else the provider's own.",
        read_only=True,
    )
    rerank_url: str = parameter(
        "",
        "Address of a service that rereads the best results of a recall and puts them into its order, to which "
        "`/rerank` is added: `https://api.jina.ai/v1`. Empty disables.",
        read_only=True,
    )
    rerank_model: str = parameter("", "Model that the service of `rerank_url` is asked for.", read_only=True)
    embedding_threads: int = parameter(
        1, "Number of threads that compute one vector.", unit="threads",
        minimum=1, maximum=64, read_only=True,
    )  # fmt: skip
    memory_frame: str = parameter("map", "Frame of positions that do not name one.")
    datum: str = parameter(
        "", "Where the origin of `memory_frame` is on Earth, for topics of NavSatFix: `latitude, longitude` in "
        "degrees, then maybe its altitude in m and the yaw of its x axis from east in rad. Empty leaves fixes without "
        "a position.",
    )  # fmt: skip
    map_id: str = parameter("", "Map that positions belong to; positions of other maps are not compared.")
    content_limit: int = parameter(
        2000, "Longest content; longer is refused.", unit="characters", minimum=1, maximum=1_000_000
    )
    data_limit: int = parameter(
        4_194_304, "Largest raw data of a perception; larger is refused.", unit="bytes", minimum=0, maximum=268_435_456
    )
    fusion: str = parameter(
        "scores", "Fuse the scores of text and vector search, or their ranks (Reciprocal Rank Fusion).",
        choices=("scores", "rrf"),
    )  # fmt: skip
    text_weight: float = parameter(
        0.5, "Weight of the text search in the fusion; 0 switches it off.", minimum=0.0, maximum=1.0
    )
    vector_weight: float = parameter(
        0.5, "Weight of the vector search in the fusion; 0 switches it off.", minimum=0.0, maximum=1.0
    )
    bm25_k1: float = parameter(
        0.9, "How much repetitions of a word add in BM25; 0 counts a word once.", minimum=0.0, maximum=10.0
    )
    bm25_b: float = parameter(
        0.4, "How much BM25 discounts long memories: 0 not at all, 1 in proportion to their length.",
        minimum=0.0, maximum=1.0,
    )  # fmt: skip
    session_neighbor_weight: float = parameter(
        0.4, "Share of the score of its best session neighbour that a memory gains; only if `fusion` is `scores`.",
        minimum=0.0, maximum=1.0,
    )  # fmt: skip
    session_weight: float = parameter(
        0.4, "Share of the scores of the best memories of its session that a memory gains; only if `fusion` is "
        "`scores`.", minimum=0.0, maximum=1.0,
    )  # fmt: skip
    session_vector_weight: float = parameter(
        0.3, "Weight of the vectors of the two memories before it in its session, which are added to that of a memory "
        "if that is nearer to the query; only if `fusion` is `scores`.", minimum=0.0, maximum=1.0,
    )  # fmt: skip
    min_relevance: float = parameter(
        -1.0, "If no memory is so relevant to the text of a query, the result is empty, unless a condition says what, "
        "where or when; 0 disables, -1 takes the bound of the embedding model. A request may say otherwise.",
        minimum=-1.0, maximum=1.0,
    )  # fmt: skip
    time_words: bool = parameter(
        True, "Whether words of a query that say when, such as `yesterday at nine`, are its window, unless the request "
        "gives a time.",
    )  # fmt: skip
    rrf_k: int = parameter(60, "Constant k of Reciprocal Rank Fusion.", minimum=1, maximum=1000)
    real_weight: float = parameter(
        1.5, "Weight of memories from the real world (`env.sim_or_real` is `real`).", minimum=0.1, maximum=10.0
    )
    decay_rate: float = parameter(
        0.01, "Share of its confidence that a memory loses per day on which it is awake and nothing confirms it; "
        "0 disables.", unit="a day", minimum=0.0, maximum=1.0,
    )  # fmt: skip
    outcome_weight: float = parameter(
        0.1, "Largest gain or loss of score from the outcomes of the sessions in which a memory was recalled.",
        minimum=0.0, maximum=0.5,
    )  # fmt: skip
    session_max_duration: float = parameter(
        86_400.0, "Sessions that nobody has ended after this long are closed as `expired`; 0 disables. "
        "`start_session` can say otherwise.", unit="s", minimum=0.0, maximum=1e9,
    )  # fmt: skip
    session_maintenance: bool = parameter(
        True, "Close expired sessions, and consolidate sessions that ended without it, in the background.",
        read_only=True,
    )  # fmt: skip
    rules_file: str = parameter(
        "", "YAML file with your own rules for category and confidence, added to the built-in ones.", read_only=True
    )
    taxonomy_file: str = parameter("", "YAML file with your own tags, added to the built-in ones.", read_only=True)
    deduplication: str = parameter(
        "equal", "Facts that reinforce a known one instead of being stored: those of the same text (`equal`), also "
        "similar ones, which loses what differs (`seed`), or none (`off`).", choices=("equal", "seed", "off"),
    )  # fmt: skip
    similar_jaccard: float = parameter(
        0.70, "Jaccard similarity of their words from which facts are linked as similar.", minimum=0.0, maximum=1.0
    )
    contradicted_weight: float = parameter(
        0.75, "Weight of facts that a newer one contradicts.", minimum=0.1, maximum=1.0
    )
    others_weight: float = parameter(0.9, "Weight of memories that another robot made.", minimum=0.1, maximum=1.0)
    object_radius: float = parameter(
        0.4, "Largest distance between sightings of the same object.", unit="m", minimum=0.001,
        maximum=100.0,
    )  # fmt: skip
    object_radii: str = parameter("", "`object_radius` in metres for single labels, such as `chair: 0.5, mug: 0.2`.")
    object_confusions: str = parameter(
        "", "Labels that detectors confuse, such as `mug = cup, chair = stool`; the label with most votes counts."
    )
    object_position_stddev: float = parameter(
        0.1, "Standard deviation of the position of a sighting without a covariance.", unit="m", minimum=0.001,
        maximum=100.0,
    )  # fmt: skip
    object_window: int = parameter(
        200, "Number of recent sightings that determine the position of an object.", unit="sightings",
        minimum=1, maximum=1_000_000,
    )  # fmt: skip
    object_min_existence: float = parameter(
        0.5, "Probability of existence from which an object is confirmed; recall leaves out the others.",
        minimum=0.0, maximum=1.0,
    )  # fmt: skip
    look_interval: float = parameter(
        1.0, "Shortest time between two looks at an object that count as evidence of whether it exists.", unit="s",
        minimum=0.0, maximum=86_400.0,
    )  # fmt: skip
    object_false_alarms: float = parameter(
        0.1, "Probability that a detector reports an object where there is none.", minimum=0.001, maximum=0.5
    )
    sighting_interval: float = parameter(
        1.0, "Shortest time between two sightings in the history of an object; all sightings are counted.",
        unit="s", minimum=0.0, maximum=86_400.0,
    )  # fmt: skip
    max_sightings_per_object: int = parameter(
        1000, "Largest number of sightings in the history of an object; beyond it, every second one is removed.",
        unit="sightings", minimum=4, maximum=10_000_000,
    )  # fmt: skip
    areas_file: str = parameter(
        "", "YAML file with named areas, polygons in the memory frame; reloaded when it changes. Empty disables.",
        read_only=True,
    )  # fmt: skip
    notes_folders: tuple[str, ...] = parameter(
        (), "Folders whose Markdown and text files are recalled as notes, each as `path` or `collection=path`.",
        read_only=True,
    )  # fmt: skip
    notes_chunk_tokens: int = parameter(
        400, "Largest part into which a file of notes is split, about; only code and tables are left whole beyond it.",
        unit="tokens", minimum=20, maximum=10_000, read_only=True,
    )  # fmt: skip
    recall_kinds: str = parameter(
        "facts, perceptions, notes", "Kinds of memories that answer a recall that does not name its `kinds`."
    )
    recall_log: int = parameter(
        1000, "Number of last recalls that the file keeps a log of; 0 disables.", unit="recalls", minimum=0,
        maximum=1_000_000,
    )  # fmt: skip
    recall_log_texts: bool = parameter(
        False, "Keep the texts of recalls in this log; otherwise a digest tells which were the same."
    )
    visit_gap: float = parameter(
        600.0, "Time without an observation at a place after which the next one is another visit.", unit="s",
        minimum=0.0, maximum=86_400.0,
    )  # fmt: skip
    max_memories: int = parameter(
        0, "Largest number of memories; beyond it, the least useful are deleted. 0 disables.",
        unit="memories", minimum=0, maximum=1_000_000_000,
    )  # fmt: skip
    retention_bytes: int = parameter(
        0, "Largest size of database and log; beyond it, the least useful memories are deleted. 0 disables.",
        unit="bytes", minimum=0, maximum=2**60,
    )  # fmt: skip
    retention_age: float = parameter(
        0.0, "Delete memories not observed or recalled for this many lived days, except constraints and named places. "
        "0 disables.",
        unit="days", minimum=0.0, maximum=100_000.0,
    )  # fmt: skip
    retention_budgets: str = parameter(
        "", "Budgets by collection and kind: `name[/kind]: amount unit`, as in `lab: 5000 rows, */perception: 30 days`."
    )
    retention_sightings: int = parameter(
        0, "Largest number of sightings of all objects; beyond it, the longest histories are halved. 0 disables.",
        unit="sightings", minimum=0, maximum=1_000_000_000,
    )  # fmt: skip
    max_path_points: int = parameter(
        200_000, "Largest number of points of the robot's path; beyond it, every second one of the older half is "
        "removed. 0 disables.", unit="points", minimum=0, maximum=1_000_000_000,
    )  # fmt: skip
    retention_export: str = parameter(
        "", "File to which memories are written as JSON lines before retention deletes them; empty disables."
    )
    synchronous: str = parameter(
        "full",
        "`full` survives a power cut, `normal` only the end of the process.",
        choices=("full", "normal"),
        read_only=True,
    )
    busy_timeout: float = parameter(
        5.0, "Longest wait for another process that locks the database.", unit="s", minimum=0.0, maximum=600.0,
        read_only=True,
    )  # fmt: skip
    fleet_url: str = parameter(
        "",
        "Fleet to which the node sends what it remembers: a libpq URI or `service=NAME`, without a password. Empty "
        "disables.",
        read_only=True,
    )
    fleet_collections: str = parameter(
        "*", "Memories that go to the fleet: `name[/kind]`, with commas between; `!` in front keeps a part. `*` is all "
        "but collections whose names begin with `people`.", read_only=True,
    )  # fmt: skip
    fleet_subscriptions: str = parameter(
        "", "Collections of which the file gets what other robots of the fleet know: names with commas between, `*` "
        "for all that the fleet lets this robot read. Empty disables.", read_only=True,
    )  # fmt: skip
    fleet_max_data: int = parameter(
        0, "Largest raw data, such as an image, that goes to the fleet; larger data stay.", unit="bytes", minimum=0,
        maximum=16_000_000, read_only=True,
    )  # fmt: skip
    autostart: bool = parameter(True, "Configure and activate at start.", read_only=True)
    bond_heartbeat_period: float = parameter(
        0.25, "Time between two heartbeats for a `nav2_lifecycle_manager` while active, if `bond` is installed; "
        "0 disables.", unit="s", minimum=0.0, maximum=60.0, read_only=True,
    )  # fmt: skip
    worker_threads: int = parameter(4, "Number of concurrent queries.", minimum=1, maximum=64, read_only=True)
    perception_reliability: str = parameter(
        "reliable", "QoS of `~/perception`.", choices=("reliable", "best_effort"), read_only=True
    )
    perception_depth: int = parameter(
        1000, "QoS history depth of `~/perception`.", unit="messages", minimum=1, maximum=100_000, read_only=True
    )
    queue_limit: int = parameter(
        20_000, "Largest number of messages that wait to be read or transformed, and of perceptions that wait to be "
        "written.", unit="messages", minimum=1, maximum=10_000_000,
    )  # fmt: skip
    queue_policy: str = parameter(
        "drop_newest",
        "Drop messages when `queue_limit` is reached, or `block`: leave them to the middleware until there is room.",
        choices=("drop_newest", "drop_oldest", "block"),
    )  # fmt: skip
    presets_file: str = parameter(
        "", "YAML file with your own presets for message types, merged over the built-in ones.", read_only=True
    )
    transform_timeout: float = parameter(
        1.0, "Longest wait of a perception for its transform, in real time and in simulated time.", unit="s",
        minimum=0.0, maximum=600.0, read_only=True,
    )  # fmt: skip
    max_transform_timeout: float = parameter(
        10.0, "Longest `transform_timeout` that a query may ask for; longer is refused.", unit="s", minimum=0.0,
        maximum=600.0,
    )  # fmt: skip
    on_missing_transform: str = parameter(
        "drop",
        "Drop perceptions of `perception_topics` without a transform into `memory_frame`, or keep them in their own "
        "frame.",
        choices=("drop", "keep"), read_only=True,
    )  # fmt: skip
    status_period: float = parameter(
        1.0, "Shortest time between two status messages.", unit="s", minimum=0.05, maximum=3600.0, read_only=True
    )
    perception_topics: tuple[str, ...] = parameter(
        (), "Names of topics to remember; each name has its own parameters, such as `<name>.topic`.", read_only=True
    )
    tf_topics: tuple[str, ...] = parameter(
        (),
        "Topics of transforms, such as `/robot1/tf`; those whose names end in `static` hold for all times. Empty means "
        "every one of type tf2_msgs/TFMessage but those of other robots.",
        read_only=True,
    )
    localisation_topic: str = parameter(
        "",
        "PoseWithCovarianceStamped topic; topics with `gate` are stored only while its covariance is within limits.",
        read_only=True,
    )
    localisation_position_limit: float = parameter(
        0.5, "Largest standard deviation of the position.", unit="m", minimum=1e-6, maximum=1e6, read_only=True
    )
    localisation_yaw_limit: float = parameter(
        0.3, "Largest standard deviation of the yaw.", unit="rad", minimum=1e-6, maximum=10.0, read_only=True
    )
    map_topic: str = parameter("map", "OccupancyGrid topic; the latest map is kept. Empty disables.", read_only=True)
    watch_actions: tuple[str, ...] = parameter(
        (),
        "Action servers, such as `navigate_to_pose`, of which each goal becomes a session with its outcome, where the "
        "robot was, and the last feedback.",
        read_only=True,
    )
    ring_topics: tuple[str, ...] = parameter(
        (),
        "Topics of any type whose last seconds are stored, as an MCAP file, with the outcome of a watched action that "
        "was aborted.",
        read_only=True,
    )
    ring_seconds: float = parameter(
        5.0, "How much of `ring_topics` is kept; less if it is larger than `data_limit`.", unit="s", minimum=0.1,
        maximum=600.0, read_only=True,
    )  # fmt: skip
    robot_frame: str = parameter(
        "base_link", "Frame of the robot, whose path in `memory_frame` is kept, from tf. Empty disables.",
        read_only=True,
    )  # fmt: skip
    path_distance: float = parameter(
        0.25, "Distance after which the robot's path gets another point; so does a turn of 30 degrees.", unit="m",
        minimum=0.001, maximum=1000.0, read_only=True,
    )  # fmt: skip
    path_interval: float = parameter(
        1.0, "Shortest time between two points of the robot's path.", unit="s", minimum=0.0, maximum=3600.0,
        read_only=True,
    )  # fmt: skip
    markers_period: float = parameter(
        1.0, "Period of `~/markers`; 0 disables.", unit="s", minimum=0.0,
        maximum=3600.0, read_only=True,
    )  # fmt: skip
    objects_period: float = parameter(
        1.0, "Shortest time between two messages of `~/objects`; 0 disables.", unit="s", minimum=0.0,
        maximum=3600.0, read_only=True,
    )  # fmt: skip

    def __post_init__(self) -> None:
        for entry in fields(self):
            object.__setattr__(self, entry.name, check_value(entry, getattr(self, entry.name)))
        object.__setattr__(self, "collection", validation.collection("collection", self.collection))
        if not self.collection:
            raise InvalidFieldError("collection", self.collection, "is empty; name a collection, such as default")
        for field, name in [
            ("collection", self.collection),
            *(("notes_folders", n) for n in self.collections_of_notes()),
        ]:
            _check_own(field, validation.new_collection(field, name))
        object.__setattr__(self, "memory_frame", validation.frame("memory_frame", self.memory_frame))
        recall_kinds(self.recall_kinds)
        notes_folders(self.notes_folders)
        if not (self.text_weight or self.vector_weight):
            raise InvalidFieldError("vector_weight", self.vector_weight, "must not be 0 if text_weight is 0 as well")
        if self.ring_topics and not self.watch_actions:
            problem = "are stored when a watched action is aborted: name action servers in watch_actions"
            raise InvalidFieldError("ring_topics", list(self.ring_topics), problem)
        self.label_rules()
        self.earth_datum()
        self.budgets()
        fleet_parts(self.fleet_collections)
        # Checked here, as it is used only in the background, when retention deletes.
        expanded_path("retention_export", self.retention_export)

    def label_rules(self) -> LabelRules:
        """Parse the parameters about labels of objects.

        Raises:
            InvalidFieldError: `object_radii` or `object_confusions` is invalid.
        """
        return label_rules(self.object_radius, self.object_radii, self.object_confusions)

    def earth_datum(self) -> Datum | None:
        """Return the place of the memory frame on Earth; None if it is unknown.

        Raises:
            InvalidFieldError: `datum` is invalid.
        """
        return parse_datum(self.datum)

    def folders_of_notes(self) -> tuple[NotesFolder, ...]:
        """Return the folders of `notes_folders`."""
        return notes_folders(self.notes_folders)

    def collections_of_notes(self) -> tuple[str, ...]:
        """Return the collections of these folders, in alphabetical order; without folders the default one."""
        return tuple(sorted({folder.collection for folder in self.folders_of_notes()} or {DEFAULT_COLLECTION}))

    def own_collection(self, field: str, value: object) -> str:
        """Return the name of a collection of this memory; the default one if none is named.

        Raises:
            InvalidFieldError: it is no name, or that of another robot's memory.
        """
        name = validation.collection(field, value, default=self.collection)
        _check_own(field, name)
        return name

    def new_collection(self, field: str, value: object) -> str:
        """Return the name of a collection to store into, as `own_collection` does.

        Raises:
            InvalidFieldError: it is no such name, or has a sign that means something in a list, a URL or a path.
        """
        return validation.new_collection(field, self.own_collection(field, value))

    def kinds_to_recall(self) -> frozenset[Kind]:
        """Return the kinds of `recall_kinds`."""
        return recall_kinds(self.recall_kinds)

    def budgets(self) -> tuple[Budget, ...]:
        """Return the budgets of the retention parameters, in the order in which they are enforced.

        Raises:
            InvalidFieldError: `retention_bytes` or `retention_budgets` is invalid.
        """
        return budgets(
            rows=self.max_memories, size=self.retention_bytes, age=self.retention_age, parts=self.retention_budgets
        )

    def changed(self, **changes: object) -> Parameters:
        """Return these parameters with some replaced.

        Raises:
            InvalidFieldError: a name is unknown or a value is invalid.
        """
        names = {entry.name for entry in fields(self)}
        for name, value in changes.items():
            if name not in names:
                near = did_you_mean(name, names) or f"; there are {', '.join(sorted(names))}"
                raise InvalidFieldError(name, value, f"is no parameter{near}")
        return replace(self, **changes)  # type: ignore[arg-type]


def _check_own(field: str, name: str) -> None:
    if is_of_another(name):
        problem = f"begins with {SIGN!r}, as what other robots made, which is only read; name another collection"
        raise InvalidFieldError(field, name, problem)
