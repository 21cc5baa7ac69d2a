"""From any ROS message to perceptions, by configuration alone and without ROS: live topics and recordings alike."""

from .errors import TopicError, UnknownTypeError
from .extraction import Extractor
from .intake import Intake
from .localisation_gate import Limits, LocalisationGate
from .observation import Extraction, Observation
from .presets import Presets, load_presets
from .raw_stamp import raw_stamp_reader
from .reasons import Reason
from .sampling import Sample, Sampler
from .topic_config import TopicConfig
from .topic_counts import TopicCounts
from .topic_parsing import parse_topic
from .type_description import MessageClasses, TypeDescription, TypestoreTypes, message_class

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
    "load_presets",
    "message_class",
    "parse_topic",
    "raw_stamp_reader",
]
