"""The script that draws accuracy over k as curves to pull."""

from pathlib import Path

PICTURE = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
"""It defines `drawPicture`, and needs nothing."""
