"""What pages keep in memory of rows: what is forgotten while it is being made does not stay."""

import threading

from pages.frame import memory
from pillar_core.data import uploads

NAME = uploads.PREFIX + "0" * 32


def test_what_is_forgotten_while_it_is_made_is_made_anew() -> None:
    begun, told, calls = threading.Event(), threading.Event(), []

    @memory.of_rows(max_entries=4, show_spinner=False)
    def read(name: str) -> object:
        calls.append(name)
        begun.set()
        assert told.wait(60)
        return object()

    reader = threading.Thread(target=read, args=(NAME,))
    reader.start()
    assert begun.wait(60)
    memory.forget(uploads.key_of(NAME))
    told.set()
    reader.join()
    assert read(NAME) is read(NAME)
    assert len(calls) == 2
    memory.forget(uploads.key_of(NAME))
    read(NAME)
    assert len(calls) == 3
