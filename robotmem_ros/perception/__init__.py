"""Turn messages of any ROS type into perceptions, by configuration alone and without ROS, live or recorded."""

from .counters import DropReason, TopicCounter, TopicCounts
from .extraction import Extraction, Extractor
from .intake import Intake
from .message_types import MessageClasses, TypeDescription, TypestoreTypes, UnknownTypeError, message_class
from .observation import Observation, Placed, PlacePerception, kept
from .path_recorder import PathRecorder
from .plan import TopicError
from .sampling import LocalisationGate
from .storing import PerceptionStore
from .topic_config import Presets, TopicConfig, configured_topics, load_presets, parse_topic
