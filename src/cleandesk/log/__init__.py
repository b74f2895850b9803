"""The record of a run: hash-chained logs under one root, and their verification."""

from __future__ import annotations

from cleandesk.log.chain import Fault, Walk, canonical, link, walk
from cleandesk.log.classified import BLAMES, append_classification, read_classifications
from cleandesk.log.folder import RunFolder, episode_file, episode_path, rerun_file, rerun_path
from cleandesk.log.heads import HeadsSink
from cleandesk.log.read import find_episode, iter_verdicts, read_episode
from cleandesk.log.seal import Seal, Sealed, seal, sign
from cleandesk.log.store import EpisodeWriter, read_object, write_json_atomically, write_object
from cleandesk.log.verify import verify_run

__all__ = [
    "BLAMES",
    "EpisodeWriter",
    "Fault",
    "HeadsSink",
    "RunFolder",
    "Seal",
    "Sealed",
    "Walk",
    "append_classification",
    "canonical",
    "episode_file",
    "episode_path",
    "find_episode",
    "iter_verdicts",
    "link",
    "read_classifications",
    "read_episode",
    "read_object",
    "rerun_file",
    "rerun_path",
    "seal",
    "sign",
    "verify_run",
    "walk",
    "write_json_atomically",
    "write_object",
]
