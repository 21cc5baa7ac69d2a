"""From any ROS message to perceptions, by configuration alone and without ROS: live topics and recordings alike."""

from .counters import TopicCounts
from .drop_reason import Reason
from .errors import TopicError, UnknownTypeError
from .extraction import Extractor
from .intake import Intake
from .localisation_gate import Limits, LocalisationGate
from .message_types import MessageClasses, TypeDescription, TypestoreTypes, message_class
from .observation import Extraction, Observation
from .presets import Presets, configured_topics, load_presets, parse_topic
from .sampling import Sample, Sampler, raw_stamp_reader
from .topic_config import TopicConfig

__all__ = [
    "Extraction",
    "Extractor",
    "Intake",
    "Limits",
    "LocalisationGate",
    "MessageClasses",
    "Observation",
    "Presets",
    "Reason",
    "Sample",
    "Sampler",
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
    "raw_stamp_reader",
]
