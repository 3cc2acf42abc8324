"""A model to take away: its training is written down before it begins, a receipt says the sum, and
its file stays for later downloads."""

import contextlib
import functools
import io
import json
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import streamlit as st

from pages.frame import core, failures, history, local, memory, navigation, plain, session
from pages.frame.settings import Settings
from pillar_core import mode, store, texts
from pillar_core.data import uploads
from pillar_core.errors import DataError
from pillar_core.fingerprint import fingerprint
from pillar_core.numerics import round_up
from pillar_core.runs.evidence import evidence_page
from pillar_core.runs.loaded import Model, load_model, reading, with_tests
from pillar_core.runs.models import check_room, model_bytes
from pillar_core.runs.private_tests import model_of
from pillar_core.runs.receipts import Account, Training, account_of
from pillar_core.runs.statement import IN_SIGHT
from pillar_core.types import BY_COIN, FeatureSet, Form, RunRecord, SemiPrivateSplit, Values

TEST = "answer-test"
_TRAINS = "Training with secret noise …"
_MEANWHILE = "A press came before this one: its model is listed below, and no more was spent."
Trained = tuple[RunRecord, SemiPrivateSplit, Values]
Train = Callable[[], Trained]
"""Trains a model, with what private rows chose for it: `words` and the `settings` that follow; {}
where they chose nothing.

It must not ask Streamlit or a cache of the pages: either ends a run of the page that another press
has overtaken.
"""
_AT_WORK: defaultdict[str, threading.Lock] = defaultdict(threading.Lock)


def offer(
    settings: Settings,
    training: Training,
    train: Train,
    *,
    key: str,
    label: str,
    hint: str,
) -> None:
    """The button that trains a model's file, with model.onnx where that is asked for; of rows that
    were trained on before it asks first."""
    paid, features = account(settings), core.features(settings)
    place = len(paid.trainings)
    has_onnx = (features.images is not None or features.pixel_shape is not None) and local.toggle(
        f"with-onnx-{key}",
        label="Add model.onnx",
        help="Images in, probabilities out, with the backbone inside: other programs run it without"
        " this library. It takes some seconds and about as many megabytes as the backbone. It needs"
        " the extra onnx; else the file's README says how to get it.",
        unlinked="It belongs to a model that is here for this visit alone.",
    )
    if n_bytes := texts.n_bytes_of(texts.encoder_of(features.recipe)):
        st.caption(f"Its file has {n_bytes / 1e6:.0f} MB: it reads texts without this library.")
    is_ready = not paid.spent or local.toggle(
        f"train-again-{key}-{place}",
        label="Spend again on the same rows",
        help="A new training is charged, with equal settings too: its loss adds to the sum below."
        " Earlier models can be downloaded again for nothing.",
        unlinked="A link spends no ε of whoever opens it.",
    )
    style: Form = {"type": "primary", "icon": ":material/lock:"}
    request = (settings, training, train, has_onnx, place, features)
    st.button(
        label, on_click=_train, args=request, key=key, disabled=not is_ready, help=hint, **style
    )


def at_work(settings: Settings) -> threading.Lock:
    """Held while a model of these rows is trained and kept."""
    return _AT_WORK[account(settings).trained]


def wait(settings: Settings) -> None:
    """Returns once no training of these rows is at work here: what is drawn then has its model."""
    with st.spinner(_TRAINS):
        while at_work(settings).locked():
            mode.session()  # here Streamlit ends a run whose visitor moved on or left
            time.sleep(0.1)


def last_model(settings: Settings) -> tuple[str, Model] | None:
    """The key and the content of the file, of those that are here, of the model that was trained
    last on these rows."""
    files = _files(settings, account(settings).trainings)
    name = files.get(max(files, default=-1), "")
    return None if (model := _model(settings, name)) is None else (name, model)


def show(settings: Settings) -> None:
    """What the last training spent and the sum for these rows; then every training, the last first,
    with its file where that is here."""
    if not (trainings := (paid := account(settings)).trainings):
        if paid.spent:  # by trainings on other sets with some of these rows
            st.info(plain.text(_sum(settings)), icon=":material/receipt_long:")
        return
    receipt, files = f"{trainings[-1].words} {_sum(settings)}", _files(settings, trainings)
    st.info(plain.text(receipt), icon=":material/receipt_long:")
    for place, training in reversed(list(enumerate(trainings))):
        with st.container(horizontal=True, vertical_alignment="center"):
            if len(trainings) > 1 or place not in files:
                where = (
                    ""
                    if place in files or training.is_void
                    else " Its file is not in this cache: it is where it was downloaded or written."
                )
                st.markdown(plain.text(f"{place + 1}. {training.words}{where}"))
            if place in files:
                st.download_button(
                    "Download the model",
                    key=_key_of("model-file", place, files),
                    help="The file of this training. Downloading it again spends nothing.",
                    icon=":material/download:",
                    mime="application/zip",
                    on_click="ignore",
                    data=functools.partial(content, files[place]),
                    file_name=f"model{_promise(settings, files[place])}.zip",
                )
                _offer_evidence(settings, files, place)


def offer_evidence(settings: Settings, *, attacks: Sequence[str] = ()) -> None:
    """The page for a data protection officer on each model of these rows whose file is here, the
    last first."""
    trainings = account(settings).trainings
    files = _files(settings, trainings)
    for place in reversed(files):
        with st.container(horizontal=True, vertical_alignment="center"):
            if len(trainings) > 1:
                st.markdown(plain.text(f"{place + 1}. {trainings[place].words}"))
            _offer_evidence(settings, files, place, attacks)


def _offer_evidence(
    settings: Settings, files: Mapping[int, str], place: int, attacks: Sequence[str] = ()
) -> None:
    spent, file_of = _sum(settings), tested_file(settings, files[place])

    def page() -> bytes:
        return evidence_page(io.BytesIO(file_of()), attacks=attacks, spent=spent).encode()

    st.download_button(
        "Evidence for your data protection officer",
        key=_key_of("model-evidence", place, files),
        help="One page on this model, to read in five minutes or to print: unit, ε in odds, ledger,"
        " assumptions.",
        icon=":material/verified_user:",
        mime="text/html",
        on_click="ignore",
        data=page,
        file_name="evidence.html",
    )


def tested_file(settings: Settings, name: str) -> Callable[[], bytes]:
    """What reads a model's file, its statement naming the private tests of its test rows where one
    was of this model; nothing of Streamlit is asked then."""
    model, tests = _model(settings, name), account(settings).tests
    if model is None or model_of(model.classifier) not in {test.model for test in tests}:
        return functools.partial(content, name)
    beside = of_tests(settings)
    return lambda: with_tests(io.BytesIO(content(name)), tests, **beside)


def of_tests(settings: Settings) -> Form:
    """What a statement on private tests of these rows says besides them."""
    is_shown = account(settings).sight == IN_SIGHT
    return {"has_coin": has_coin(core.features(settings)), "is_shown": is_shown}


def _files(settings: Settings, trainings: Sequence[Training]) -> dict[int, str]:
    """The keys of the trainings' files that are here, by the training's place."""
    rows = account(settings).trained
    names = {place: _name(settings, rows, place) for place in range(len(trainings))}
    return {place: name for place, name in names.items() if store.default().has("blob", name)}


def _key_of(name: str, place: int, files: Mapping[int, str]) -> str:
    """The key of a file's button: the last one's is its name alone."""
    return name if place == max(files) else f"{name}-{place}"


def content(name: str) -> bytes:
    """The file of a model under its key."""
    return store.default().get_bytes(name) or b""


@memory.cache(max_entries=8, by=lambda settings, name: name, is_free=True)
def _model(settings: Settings, name: str) -> Model | None:
    """The content of a model's file; None of none, and of one that another version wrote."""
    with contextlib.suppress(DataError):
        return load_model(io.BytesIO(content(name))) if name else None
    return None


@memory.cache(max_entries=500, by=lambda settings, name: name, is_free=True)
def _promise(settings: Settings, name: str) -> str:
    """The ε in the name of a model's file; none of one that another version wrote."""
    with contextlib.suppress(DataError), reading(io.BytesIO(content(name))) as (_, card):
        return f"-epsilon-{round_up(float(card['guarantee']['epsilon']))}"
    return ""


def _sum(settings: Settings) -> str:
    return account(settings).total(settings.delta, has_coin=has_coin(core.features(settings)))


def has_coin(data: FeatureSet) -> bool | str:
    """Whether a secret coin of each row or person alone decided between training and test:
    `BY_COIN`, ours, or as somebody states it."""
    return (
        BY_COIN
        if data.test_drawn == BY_COIN
        else not data.test_drawn and local.value("answer-test-coin", False)
    )


def look(settings: Settings) -> bool:
    """Whether a page may show exact figures of these rows, which is then remembered; False with the
    reason where they are locked."""
    if is_shown := may_look(settings):
        history.look(settings)
    return is_shown


def may_look(settings: Settings) -> bool:
    """Whether exact figures of these rows may be shown: none of rows that were brought before
    somebody asks for them."""
    if show_lock(settings, reads_rows=False):
        return False
    if not uploads.names_in(settings.data) or history.has_looked(settings):
        return True
    is_asked = local.toggle(
        "rows-look",
        of=settings.data,
        label="Show exact figures of these rows",
        help="Test accuracy, class counts, the rows themselves.",
        unlinked="Only whoever may see the rows can ask for them.",
    )
    if not is_asked:
        st.caption(
            "No ε covers exact figures, and the file of a model that you train afterwards records"
            " that you looked."
        )
        navigation.link("answer", f"{navigation.title('answer')} needs none")
    return is_asked


def is_locked(settings: Settings, *, reads_rows: bool = True) -> bool:
    """Whether a private test of these rows was asked for, here or earlier.

    reads_rows: not so, rows that were not brought, or are not here, are not read to look for
    earlier tests.
    """
    is_known = reads_rows or uploads.is_here(settings.data)
    return not mode.binds() and (
        bool(local.value(f"{TEST}-{settings.data}", False))
        or (is_known and bool(account(settings).tests))
    )


def show_lock(settings: Settings, *, reads_rows: bool = True) -> bool:
    """`is_locked`; the page then says that no exact figure of these rows is shown."""
    if is_shown := is_locked(settings, reads_rows=reads_rows):
        st.info(
            "A private test of these rows was asked for, so no page shows an exact figure of them."
            " Answer tests again within ε.",
            icon=":material/lock:",
        )
    return is_shown


def last_choice(settings: Settings) -> Any:
    """What these private rows chose last, as `Train` says it; None where they chose nothing."""
    if mode.binds():
        return None
    rows, cache = account(settings).trained, store.default()
    for place in reversed(range(len(account(settings).trainings))):
        if (choice := cache.get_bytes(_name(settings, rows, place, "choice"))) is not None:
            return json.loads(choice)
    return None


@memory.cache(max_entries=8, by=core.split_key, is_free=True)
def account(settings: Settings) -> Account:
    """What was paid for the private rows, and seen of them."""
    return account_of(core.features(settings), settings.data)


def _train(settings: Settings, *request: Any) -> None:
    """`_train_once`, while the page says so."""
    with contextlib.ExitStack() as after, failures.note_refusal("No model was made"):
        try:
            note = st.empty()
            after.callback(note.empty)
            note.info(_TRAINS, icon=":material/hourglass_top:")
        finally:
            # another press ends this run of the page at whatever is asked of Streamlit, and from
            # here on that is nothing
            with at_work(settings):
                _train_once(settings, *request)


def _train_once(
    settings: Settings,
    training: Training,
    train: Train,
    onnx: bool,
    place: int,
    features: FeatureSet,
) -> None:
    """A training that is written down first; none where another came before it."""
    paid = account(settings)
    if len(paid.trainings) > place:
        session.surely(lambda: session.note(_MEANWHILE))
        return
    model_name, choice_name = (
        _name(settings, paid.trained, place, kind) for kind in ("model", "choice")
    )
    check_room(features)
    with paid.charged(training, place=place):
        record, split, choice = train()
    store.default().put_bytes(model_name, model_bytes(record, split=split, onnx=onnx))
    if choice:
        store.default().put_bytes(choice_name, json.dumps(choice).encode())


def _name(settings: Settings, rows: str, place: int, kind: str = "model") -> str:
    """The key of a training's file, with that of the set that was brought: forgetting the set
    forgets its models."""
    return "-".join(
        [
            *map(uploads.key_of, uploads.names_in(settings.data)),
            kind,
            fingerprint(kind, rows, place),
        ]
    )
