"""`pillar-explorer`: opens the app in the browser."""

import argparse
import os
import sys
from collections.abc import Sequence
from typing import NoReturn

from pillar_core import mode
from pillar_core.errors import SettingError
from pillar_core.installation import APP
from pillar_core.runs.versions import VERSION


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Becomes the server of the app."""
    parser = argparse.ArgumentParser(
        "pillar-explorer", description="Explore semi-private learning in the browser."
    )
    parser.add_argument(
        "--demo",
        action="store_true",
        help="for everybody who comes: no files, releases or fetching",
    )
    parser.add_argument(
        "--port", type=int, default=8501, help="port to listen on (default: %(default)s)"
    )
    parser.add_argument(
        "--address",
        default="127.0.0.1",
        help="address to listen on (default: %(default)s); others with --demo only",
    )
    parser.add_argument(
        "--bind",
        metavar="ADDRESS",
        help="address within a container; PILLAR_TOKEN must be set, unless it is a demo",
    )
    parser.add_argument(
        "--cache", metavar="FOLDER", help="cache folder, instead of PILLAR_CACHE or the user's own"
    )
    parser.add_argument("--headless", action="store_true", help="do not open a browser")
    parser.add_argument("--version", action="version", version=f"pillar-explorer {VERSION}")
    options = parser.parse_args(arguments)
    if options.cache:
        os.environ["PILLAR_CACHE"] = options.cache
    if options.bind:
        os.environ[mode.BIND] = options.address = options.bind
    if options.demo:
        os.environ[mode.DEMO] = "1"
    try:
        mode.check_server(options.address)
    except SettingError as error:
        parser.error(str(error))
    is_headless = options.headless or options.demo or bool(os.environ.get(mode.TOKEN))
    settings = {
        "port": options.port,
        "address": options.address,
        "headless": str(is_headless).lower(),
    }
    if options.demo:
        os.environ.setdefault(
            "OMP_NUM_THREADS", "1"
        )  # what a visitor's own thread computes is what the visitor pays
        settings |= {"maxUploadSize": 1, "disconnectedSessionTTL": 20, "fileWatcherType": "none"}
    server = [
        "run",
        str(APP / "app.py"),
        *(f"--server.{name}={value}" for name, value in settings.items()),
    ]
    os.execv(sys.executable, [sys.executable, "-m", "streamlit", *server])


if __name__ == "__main__":
    main()
