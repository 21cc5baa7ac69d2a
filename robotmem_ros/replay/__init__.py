"""Import recordings, with or without ROS."""

from .bag import Bag, BagError, RecordedMessage, RecordedTopic
from .config import ReplayConfig, config_of, load_config, parameter_file
from .definitions import RECORDING
from .proposal import Proposal, proposals, proposed_parameters
from .replay import DryRun, Replay, Result, UnreadTopic
