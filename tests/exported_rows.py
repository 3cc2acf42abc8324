"""Whether rows are in a file that leaves: read as text and as bytes, members of zips, arrays and
pictures in base64 included."""

import base64
import io
import re
import zipfile
from collections.abc import Iterable, Iterator

import numpy as np
from PIL import Image

from pillar_core.arrays import Array

KINDS = ("<f4", "<f8", "<i4", "<i8")
"""How arrays hold a number."""
PICTURES = (b"\x89PNG", b"\xff\xd8", b"GIF8", b"RIFF")


def layers(content: bytes) -> Iterator[bytes]:
    """The content and what is packed in it, at any depth."""
    yield content
    if content.startswith(b"PK"):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for name in archive.namelist():
                yield from layers(archive.read(name))
    for run in re.findall(
        rb"[A-Za-z0-9+/]{12,}", content.replace(rb"\u002f", b"/").replace(rb"\u002b", b"+")
    ):
        yield from layers(
            base64.b64decode(run + b"=" * (-len(run) % 4) if len(run) % 4 != 1 else run[:-1])
        )


def numbers_in(content: bytes, numbers: Iterable[int]) -> set[int]:
    """Those of the numbers that stand in the content, in digits or as arrays hold them."""
    whole = b"\n".join(layers(content))
    digits = {float(text) for text in re.findall(rb"\d+(?:\.\d+)?(?:e\+?\d\d?)?", whole)}
    return {
        number
        for number in numbers
        if number in digits or any(np.array(number, kind).tobytes() in whole for kind in KINDS)
    }


def holds_image(content: bytes, image: Array) -> bool:
    """Whether a line of an image (h, w) uint8 is in the content, as bytes or float32 in [0, 1], or
    the whole as a picture of any size."""
    lines = [line.tobytes() for line in (*image, *(image / np.float32(255)).astype("<f4"))]
    for layer in layers(content):
        if any(line in layer for line in lines):
            return True
        if layer.startswith(PICTURES):
            small = np.asarray(
                Image.open(io.BytesIO(layer)).convert("L").resize(image.shape[::-1]), float
            )
            if np.corrcoef(small.ravel(), image.ravel())[0, 1] > 0.8:
                return True
    return False
