"""Files of weights on a hub: taken from this machine's copy, or fetched once where a network may be used.

huggingface_hub fetches: its HF_ENDPOINT names a mirror, and it goes on with half a file. What it does not compare is the checksum.
"""

import importlib
from pathlib import Path

from pillar_core.backbones.weights import content_hash
from pillar_core.errors import DataError

_SHA256_DIGITS = 64


def hub_file(repository: str | None, filename: str, *, network: bool) -> Path | None:
    """The file of a Hugging Face repository; None where it is not here and `network` is false, or no repository is known.

    Raises:
        DataError: it could not be fetched; the message says what to do instead.
    """
    if not repository:
        return None
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError

    httpx = importlib.import_module("huggingface_hub.utils").httpx
    try:
        if not network:  # hf_hub_download asks the hub for a list even then, to say which program it serves
            cached = huggingface_hub.try_to_load_from_cache(repository, filename)
            return Path(cached) if isinstance(cached, str) else None
        path = Path(huggingface_hub.hf_hub_download(repository, filename))
    except (HfHubHTTPError, httpx.HTTPError, OSError, ValueError) as error:
        if not network:
            return None
        raise DataError(
            f"the weights {filename} of {repository} could not be fetched ({str(error).splitlines()[0][:200]}). Without a network: "
            f"download {huggingface_hub.hf_hub_url(repository, filename)} elsewhere, copy it here and pass weights=FILE."
        ) from error
    blob = path.resolve()
    if len(blob.name) == _SHA256_DIGITS and content_hash(path) != blob.name:  # the hub names large files by their checksum
        blob.unlink()
        raise DataError(f"what was sent as {filename} of {repository} has another checksum than the hub says: ask for it again.")
    return path
