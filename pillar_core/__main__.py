"""The command line: `python -m pillar_core <command>`, over the same functions as the app."""

import argparse
import os
import shlex
import sys
from collections.abc import Sequence

from pillar_core.commands import parser
from pillar_core.errors import NO_MEMORY, Cancelled, PillarError, memory_ran_out

_OPTIONS = {"ranges": "range"}
"""Options that are not called like the argument of Python."""


def main(arguments: Sequence[str] | None = None) -> int:
    """The exit status: 0, 2 for a refusal (its message on standard error), 130 when stopped, 141
    when nobody reads on."""
    given = sys.argv[1:] if arguments is None else arguments
    options = parser(next(iter(given), "--help")).parse_args(given)
    try:
        status = _status(options)
        _warn()
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(
            os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno()
        )  # Python flushes once more as it ends
        return 141  # 128 and the number of SIGPIPE, as other programs end whose reader has gone
    return status


def _status(options: argparse.Namespace) -> int:
    from pillar_core.commands.options import printable, printer  # imports that --help is spared
    from pillar_core.data.progress import report_progress

    try:
        with report_progress(lambda unit: printer(unit=unit)):
            return int(options.command(options) or 0)
    except Cancelled as stopped:
        print(f"stopped: {stopped}", file=sys.stderr)
        return 130
    except KeyboardInterrupt:
        return 130
    except PillarError as refusal:
        print(f"error: {printable(refusal)}", file=sys.stderr)
        named = [
            " ".join([f"--{_OPTIONS.get(name, name).replace('_', '-')}", *map(shlex.quote, values)])
            for name, values in refusal.arguments.items()
            if name in options
        ]
        if named:
            print(printable(f"options: {', '.join(named)}"), file=sys.stderr)
        return 2
    except (MemoryError, RuntimeError) as error:
        if not memory_ran_out(error):
            raise
        print(f"error: {NO_MEMORY}", file=sys.stderr)
        return 2


def _warn() -> None:
    """Say once where nothing that was computed could be kept."""
    from pillar_core import store  # an import that --help is spared

    try:
        unkept = store.default().unkept
    except PillarError:
        return  # the command has said what is wrong with the cache's settings
    if unkept:
        print(f"warning: {unkept}", file=sys.stderr)


if __name__ == "__main__":
    sys.exit(main())
