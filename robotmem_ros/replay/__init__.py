"""Import recordings, with or without ROS."""

from .bag import Bag, RecordedMessage, RecordedTopic
from .config import ReplayConfig, config_of, load_config, parameter_file
from .definitions import RECORDING
from .errors import BagError, EncodingError, MissingPackageError, ReplayError, TopicTypeError
from .proposal import Proposal, proposals, proposed_parameters
from .replay import DryRun, Replay, Result, UnreadTopic
