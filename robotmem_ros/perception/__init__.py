"""Turn messages of any ROS type into perceptions, by configuration alone and without ROS, live or recorded."""

from .counters import TopicCounts
from .drop_reason import DropReason
from .errors import TopicError, UnknownTypeError
from .extraction import Extraction, Extractor
from .intake import Intake
from .localisation_gate import LocalisationGate
from .message_types import MessageClasses, TypeDescription, TypestoreTypes, message_class
from .observation import Observation
from .path_recorder import PathRecorder
from .presets import Presets, configured_topics, load_presets, parse_topic
from .storing import PerceptionStore
from .topic_config import TopicConfig

__all__ = [
    "DropReason",
    "Extraction",
    "Extractor",
    "Intake",
    "LocalisationGate",
    "MessageClasses",
    "Observation",
    "PathRecorder",
    "PerceptionStore",
    "Presets",
    "TopicConfig",
    "TopicCounts",
    "TopicError",
    "TypeDescription",
    "TypestoreTypes",
    "UnknownTypeError",
    "configured_topics",
    "load_presets",
    "message_class",
    "parse_topic",
]
