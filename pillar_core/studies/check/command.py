"""The command line that starts a script, as text: the options that it gives, and to how many
processes."""

import dataclasses
import re
import shlex
from pathlib import PurePath

from pillar_core.errors import DataError
from pillar_core.studies.check.constants import Value

_SHELL = re.compile("[();<>|&]+")
_ELSEWHERE = re.compile(r"@|`|--?flagfile|\$[@*]|\$\{[@*]")
"""Words that stand for options of a file or of the shell."""
_NUMBER = re.compile(r"[-+]?\.?\d\S*")
_LAUNCHER = re.compile(r"(torch\.distributed|accelerate)\b")
_PROCESSES = re.compile(r"--(nproc[-_]per[-_]node|num_processes|num_gpus)")
_NODES = re.compile(r"--(nnodes|num_nodes|num_machines|hostfile|include)|.*WORLD_SIZE=")


@dataclasses.dataclass(frozen=True)
class Command:
    """Options in order, as they are written (a dash within as “_”), each with its value: True for
    one that stands alone, None for one that is not read. processes: None where it is not said."""

    options: tuple[tuple[str, Value], ...] = ()
    processes: int | None = None


@dataclasses.dataclass(frozen=True)
class Option:
    """An option that a script takes: the words that give it (“” where a word without dashes may),
    and that turn it off.

    kind: “number” is read as it looks, “text” as it stands, “switch” is `alone` where it is given;
    any other is not read.
    """

    given_by: tuple[str, ...]
    off_by: tuple[str, ...] = ()
    kind: str = "number"
    alone: bool = True

    def value(self, given: Value) -> Value:
        """What it holds where a command gives it a value; None where that is not read."""
        if self.kind == "switch":
            return self.alone if given is True else None
        if self.kind == "text" and given is not None:
            return str(given)
        return given if self.kind == "number" else None

    def may_be(self, word: str) -> bool:
        """Whether a word that no option has may stand for this one: shortened, dotted, or with
        others behind one dash."""
        if not word.startswith("--"):
            return any(name.strip("-")[:1] in word[1:] for name in self.given_by)
        last = word.rpartition(".")[2]
        return any(name.startswith(word) or name.strip("-") == last for name in self.given_by)


def spelled(option: str) -> str:
    """An option with “_” for the dashes within."""
    return option[:2] + option[2:].replace("-", "_")


def read_command(text: str) -> Command:
    """What a command line gives to the script that it starts.

    Raises DataError: not one command, a quote that is not closed, options that stand in a file.
    """
    lines = [line for line in text.replace("\\\n", " ").splitlines() if line.strip()]
    try:
        commands = [words for line in lines if (words := _words(line))]
    except ValueError as fault:
        raise DataError(f"The command cannot be read: {fault}.") from fault
    starts = [words for words in commands if _script(words)] or commands
    if len(starts) != 1 or any(map(_SHELL.fullmatch, starts[0])):
        raise DataError("Give the one command that starts the script, alone.")
    words = starts[0]
    place = _script(words) or int(not words[0].startswith("-"))
    return Command(tuple(_options(words[place:])), _processes(words[: max(place - 1, 0)]))


def _words(line: str) -> list[str]:
    lexer = shlex.shlex(line, posix=True, punctuation_chars=True)
    lexer.whitespace_split = True
    return list(lexer)


def _script(words: list[str]) -> int:
    """The place behind the script's name; 0 where no word is one."""
    for place, word in enumerate(words):
        is_module = place > 0 and words[place - 1] == "-m"
        if word.endswith(".py") or (is_module and not _LAUNCHER.match(word)):
            return place + 1
    return 0


def _options(words: list[str]) -> list[tuple[str, Value]]:
    options = list[tuple[str, Value]]()
    for word in words:
        name, sign, value = word.partition("=")
        last, before = options[-1] if options else ("", None)
        if word == "--":
            break
        if _ELSEWHERE.match(word) or ("$" in word and before is not True and not sign):
            raise DataError(f"{word} stands for options that are not read: write them out.")
        if word.startswith("-") and not _NUMBER.fullmatch(word):
            options.append((spelled(name), _value(value) if sign else True))
        elif last and before is True:
            options[-1] = last, _value(word)
        else:  # it may be this option's, or one without a name
            options.append((last, None))
            options.append(("", None))
    return options


def _value(word: str) -> Value:
    """What a word says; None where the shell fills it in."""
    for kind in (int, float):
        try:
            return kind(word)
        except ValueError:
            continue
    return None if re.search("[$`]", word) else word


def _processes(words: list[str]) -> int | None:
    if any(map(_NODES.match, words)):
        return None
    given = [value for name, value in _options(words) if _PROCESSES.match(name)]
    names = [PurePath(word).name for word in words if "=" not in word]
    is_plain = names[:1] and names[0].startswith("python") and not any(map(_LAUNCHER.match, names))
    value = given[-1] if given else 1 if is_plain else None
    return value if isinstance(value, int) and not isinstance(value, bool) else None
