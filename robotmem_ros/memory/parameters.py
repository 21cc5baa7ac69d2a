"""Every parameter of the system, one table: names, defaults, units and ranges.

The table drives the checks, the declarations of the node, `config/memory.yaml` and `docs/parameters.md`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields, replace

from .errors import InvalidFieldError
from .nearest import did_you_mean
from .objects.label_rules import LabelRules, label_rules
from .parameter import checked, parameter
from .paths import expanded
from .retention.budgets import Budget, budgets


@dataclass(frozen=True)
class Parameters:
    """The parameters as one typed value; unknown names and values out of range are refused.

    Raises:
        InvalidFieldError: a value has the wrong type or lies outside its range.
    """

    db_path: str = parameter(
        "~/.robotmem/memory.db", "Database file; `:memory:` keeps nothing on disk.", read_only=True
    )
    collection: str = parameter("default", "Namespace of memories that name none.")
    embedding_model: str = parameter(
        "all-MiniLM-L6-v2-int7",
        "Folder of an ONNX model, name of one in `~/.robotmem/models`, or one that FastEmbed knows; empty for none.",
        read_only=True,
    )
    embedding_threads: int = parameter(
        1, "Threads that compute one vector; other cores are left to the other work.", unit="threads",
        minimum=1, maximum=64, read_only=True,
    )  # fmt: skip
    memory_frame: str = parameter("map", "Frame of positions that name none.")
    map_id: str = parameter("", "The map that positions belong to; positions of other maps are not compared.")
    content_limit: int = parameter(
        2000, "Longest content or query; longer is refused.", unit="characters", minimum=1, maximum=1_000_000
    )
    summary_limit: int = parameter(
        200, "Longest summary; longer is refused.", unit="characters", minimum=1, maximum=1_000_000
    )
    context_limit: int = parameter(
        65_536, "Largest context or filter as JSON; larger is refused.", unit="bytes", minimum=2, maximum=16_777_216
    )
    data_limit: int = parameter(
        4_194_304, "Largest raw data of a perception; larger is refused.", unit="bytes", minimum=0, maximum=268_435_456
    )
    text_candidates: int = parameter(
        1000, "How many memories text search ranks of those whose words are not in RAM yet: those with most words.",
        unit="memories", minimum=100, maximum=1_000_000_000,
    )  # fmt: skip
    fusion: str = parameter(
        "scores", "How text and meaning become one score: by what they measured, or by their ranks.",
        choices=("scores", "rrf"),
    )  # fmt: skip
    session_neighbor_weight: float = parameter(
        0.2, "With `fusion` `scores`: the share a memory gets of the better score of its neighbours in the session.",
        minimum=0.0, maximum=1.0,
    )  # fmt: skip
    rrf_k: int = parameter(60, "Constant k of Reciprocal Rank Fusion.", minimum=1, maximum=1000)
    real_weight: float = parameter(
        1.5, "Weight of memories from the real world (`env.sim_or_real` is `real`).", minimum=0.1, maximum=10.0
    )
    decay_rate: float = parameter(
        0.01, "Share of its confidence that a memory loses for every day it is not used; 0 for none.", unit="a day",
        minimum=0.0, maximum=1.0,
    )  # fmt: skip
    outcome_weight: float = parameter(
        0.1, "How much more or less a memory counts that was recalled in sessions which all went well, or badly.",
        minimum=0.0, maximum=0.5,
    )  # fmt: skip
    consolidation_similarity: float = parameter(
        0.5, "Lessons of a session with a Jaccard similarity above this become one.", minimum=0.0, maximum=0.99
    )
    session_max_duration: float = parameter(
        86_400.0, "Sessions that nobody has ended after this long are closed as `expired`; 0 disables. "
        "`start_session` can say otherwise.", unit="s", minimum=0.0, maximum=1e9,
    )  # fmt: skip
    session_maintenance: bool = parameter(
        True, "Close expired sessions, and consolidate sessions that ended without it, in the background.",
        read_only=True,
    )  # fmt: skip
    rules_file: str = parameter(
        "", "YAML file of rules of one's own for category and confidence, added to the package's.", read_only=True
    )
    taxonomy_file: str = parameter("", "YAML file of tags of one's own, added to the package's.", read_only=True)
    deduplicate: bool = parameter(
        True, "A fact that says what another one says strengthens that one instead of being stored again."
    )
    duplicate_jaccard: float = parameter(
        0.70, "Facts of one claim that share this much of their words are one.", minimum=0.0, maximum=1.0
    )
    duplicate_cosine: float = parameter(
        0.85, "Facts of one claim that are as near in meaning as this are one.", minimum=0.0, maximum=1.0
    )
    reinforcement_gain: float = parameter(
        0.1, "How much of the way to 1 a repeated fact's confidence goes, times the confidence of the repetition.",
        minimum=0.0, maximum=1.0,
    )  # fmt: skip
    contradicted_weight: float = parameter(
        0.75, "Weight of facts that a newer one contradicts.", minimum=0.1, maximum=1.0
    )
    object_radius: float = parameter(
        0.4, "Sightings of one label up to this far apart are of the same object.", unit="m", minimum=0.001,
        maximum=100.0,
    )  # fmt: skip
    object_radii: str = parameter("", "The same in metres for single labels, such as `chair: 0.5, mug: 0.2`.")
    object_confusions: str = parameter(
        "", "Labels that detectors mistake for each other, such as `mug = cup, chair = stool`; the most votes count."
    )
    object_position_stddev: float = parameter(
        0.1, "Standard deviation of a sighting that comes without a covariance.", unit="m", minimum=0.001, maximum=100.0
    )
    object_window: int = parameter(
        200, "Sightings that an object's position rests on; fewer follow a moved object sooner.", unit="sightings",
        minimum=1, maximum=1_000_000,
    )  # fmt: skip
    object_confirmations: int = parameter(
        3, "After so many sightings an object is confirmed.", unit="sightings", minimum=1, maximum=1_000_000
    )
    sighting_interval: float = parameter(
        1.0, "Shortest time between two sightings of an object that are kept in its history; all are counted.",
        unit="s", minimum=0.0, maximum=86_400.0,
    )  # fmt: skip
    max_sightings_per_object: int = parameter(
        1000, "Most sightings kept of an object; of more, every second is left out.", unit="sightings", minimum=4,
        maximum=10_000_000,
    )  # fmt: skip
    max_missed_detections: int = parameter(
        3, "So many views of its place without the object halve its confidence, each time anew.", unit="views",
        minimum=1, maximum=1_000_000,
    )  # fmt: skip
    absence_interval: float = parameter(
        1.0, "Shortest time between two views of an object's place that count.", unit="s", minimum=0.0,
        maximum=86_400.0,
    )  # fmt: skip
    vector_index_size: int = parameter(
        20_000, "From so many different texts on their vectors are searched by an index, where usearch is installed.",
        unit="texts", minimum=100, maximum=100_000_000, read_only=True,
    )  # fmt: skip
    areas_file: str = parameter(
        "", "YAML file of named areas, polygons in the memory frame; read again when it changes. Empty for none.",
        read_only=True,
    )  # fmt: skip
    max_memories: int = parameter(
        0, "Most memories kept, of all collections and kinds; of more, the least useful go. 0 for any.",
        unit="memories", minimum=0, maximum=1_000_000_000,
    )  # fmt: skip
    retention_bytes: int = parameter(
        0, "Largest size of the database file with its log and index; the least useful memories go. 0 for any.",
        unit="bytes", minimum=0, maximum=2**60,
    )  # fmt: skip
    retention_age: float = parameter(
        0.0, "Memories go that were neither observed nor recalled for so long, but no constraints. 0 for any.",
        unit="days", minimum=0.0, maximum=100_000.0,
    )  # fmt: skip
    retention_budgets: str = parameter(
        "", "Budgets of parts, `collection[/kind]: amount unit`, such as `lab: 5000 rows, */perception: 30 days`."
    )
    retention_sightings: int = parameter(
        0, "Most sightings kept of all objects together; of more, the longest histories are halved. 0 for any.",
        unit="sightings", minimum=0, maximum=1_000_000_000,
    )  # fmt: skip
    retention_export: str = parameter(
        "", "File to which memories are written as JSON lines before retention removes them; empty for none."
    )
    synchronous: str = parameter(
        "full",
        "`full` survives a power cut, `normal` only the end of the process.",
        choices=("full", "normal"),
        read_only=True,
    )
    busy_timeout: float = parameter(
        5.0, "How long to wait for another process that holds the database.", unit="s", minimum=0.0, maximum=600.0,
        read_only=True,
    )  # fmt: skip
    autostart: bool = parameter(True, "Configure and activate at start.", read_only=True)
    bond_heartbeat_period: float = parameter(
        0.25, "Time between two heartbeats for a `nav2_lifecycle_manager` while active, if `bond` is installed; "
        "0 disables.", unit="s", minimum=0.0, maximum=60.0, read_only=True,
    )  # fmt: skip
    worker_threads: int = parameter(4, "Questions answered at the same time.", minimum=1, maximum=64, read_only=True)
    perception_reliability: str = parameter(
        "reliable", "QoS of `~/perception`.", choices=("reliable", "best_effort"), read_only=True
    )
    perception_depth: int = parameter(
        1000, "QoS history depth of `~/perception`.", unit="messages", minimum=1, maximum=100_000, read_only=True
    )
    queue_limit: int = parameter(
        20_000, "Perceptions that may wait to be written; more are refused.", unit="messages", minimum=1,
        maximum=10_000_000,
    )  # fmt: skip
    queue_policy: str = parameter(
        "drop_newest",
        "What a topic does when `queue_limit` is reached: leave out, or `block`: take no more until there is room.",
        choices=("drop_newest", "drop_oldest", "block"),
    )  # fmt: skip
    presets_file: str = parameter(
        "", "YAML file of presets of one's own for message types, merged over the package's.", read_only=True
    )
    tf_history: float = parameter(
        10.0, "How long transforms are kept.", unit="s", minimum=0.1, maximum=86_400.0, read_only=True
    )
    transform_timeout: float = parameter(
        1.0, "How long a perception waits for its transform, by real time and by a simulated one.", unit="s",
        minimum=0.0, maximum=600.0, read_only=True,
    )  # fmt: skip
    max_transform_timeout: float = parameter(
        10.0, "Longest `transform_timeout` that a query may ask for; longer is refused.", unit="s", minimum=0.0,
        maximum=600.0,
    )  # fmt: skip
    tf_queue_limit: int = parameter(
        10_000, "Messages that may wait for their transform; the oldest make room for more.", unit="messages",
        minimum=1, maximum=1_000_000, read_only=True,
    )  # fmt: skip
    on_missing_transform: str = parameter(
        "drop", "Perceptions without a transform into `memory_frame`: leave out, or `keep` in their own frame.",
        choices=("drop", "keep"), read_only=True,
    )  # fmt: skip
    status_period: float = parameter(
        1.0, "Shortest time between two status messages.", unit="s", minimum=0.05, maximum=3600.0, read_only=True
    )
    perception_topics: tuple[str, ...] = parameter(
        (), "Names of topics to remember; each has parameters of its own, `<name>.topic` and so on.", read_only=True
    )
    localisation_topic: str = parameter(
        "",
        "A PoseWithCovarianceStamped; topics with `gate` are stored only while its covariance is within the limits.",
        read_only=True,
    )
    localisation_position_limit: float = parameter(
        0.5, "Largest standard deviation of the position.", unit="m", minimum=1e-6, maximum=1e6, read_only=True
    )
    localisation_yaw_limit: float = parameter(
        0.3, "Largest standard deviation of the yaw.", unit="rad", minimum=1e-6, maximum=10.0, read_only=True
    )
    markers_period: float = parameter(
        1.0, "Time between two looks at the objects for `~/markers`; 0 for no markers.", unit="s", minimum=0.0,
        maximum=3600.0, read_only=True,
    )  # fmt: skip

    def __post_init__(self) -> None:
        for entry in fields(self):
            object.__setattr__(self, entry.name, checked(entry, getattr(self, entry.name)))
        self.label_rules()
        self.budgets()
        # It is used only when something is to go, in the background.
        expanded("retention_export", self.retention_export)

    def label_rules(self) -> LabelRules:
        """What the parameters of objects say about labels.

        Raises:
            InvalidFieldError: `object_radii` or `object_confusions` cannot be read.
        """
        return label_rules(self.object_radius, self.object_radii, self.object_confusions)

    def budgets(self) -> tuple[Budget, ...]:
        """The budgets of memories that the parameters of retention give, in the order in which they are met.

        Raises:
            InvalidFieldError: `retention_bytes` or `retention_budgets` cannot be used.
        """
        return budgets(
            rows=self.max_memories, size=self.retention_bytes, age=self.retention_age, parts=self.retention_budgets
        )

    def changed(self, **changes: object) -> Parameters:
        """These parameters with some replaced.

        Raises:
            InvalidFieldError: a name is unknown or a value cannot be used.
        """
        known = {entry.name for entry in fields(self)}
        for name, value in changes.items():
            if name not in known:
                near = did_you_mean(name, known) or f"; there are {', '.join(sorted(known))}"
                raise InvalidFieldError(name, value, f"is no parameter{near}")
        return replace(self, **changes)  # type: ignore[arg-type]
