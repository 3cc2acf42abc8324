"""Privacy bugs that no audit of this kind sees, with what in this library catches each instead."""

import dataclasses
import tomllib
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class BlindSpot:
    """A bug, why trials and canaries miss it, and the check that does not."""

    title: str
    why: str
    caught_by: str


BLIND_SPOTS = tuple(BlindSpot(**said) for said in tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))["spots"])
