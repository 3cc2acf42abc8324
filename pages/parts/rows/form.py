"""Bring your own rows, private and public: what was understood of them, which of them become
public, where they would lie; and one line for each set that came, by whichever page, to use it or
to forget it."""

import contextlib
import dataclasses
import functools
import itertools
from collections.abc import Callable, Sequence
from pathlib import Path

import streamlit as st

from pages.frame import badges, core, failures, local, memory, navigation, plain, session
from pages.frame import settings as codec
from pages.frame.settings import NONE, PARAMS, PART, Settings
from pages.parts.rows import columns
from pages.parts.rows.columns import Answers, Maker, list_lines, list_notes
from pages.parts.rows.files import FILE, PATHS, PRIVATE, PUBLIC, File, let_go, new_files
from pages.parts.rows.overview import show_rows
from pillar_core import data, mode, splits
from pillar_core.data import (
    npz,
    raw,
    reader,
    recipes,
    reports,
    uploads,
    visitors,
)
from pillar_core.data.arrays import NO_TEST
from pillar_core.data.npz import npz_of
from pillar_core.data.partition import BY_COIN_NOTE, SET_APART, without_drawn_test
from pillar_core.data.parts import open_source
from pillar_core.data.uploads import Upload
from pillar_core.errors import DataError, PillarError
from pillar_core.runs import splitting
from pillar_core.runs.receipts import forget_data
from pillar_core.runs.repeated import file_of
from pillar_core.types import Dataset, FeatureSet

MANY_CLASSES, ROWS_A_CLASS = 50, 10
"""More classes than the first, with fewer rows each than the second, may be numbers to predict."""
THUMBNAILS = 12
MADE_UP_FOR = "made up for {}"
"""The title of made-up public rows, by the private table's own."""
_MADE_UP = "Rows made up from what you declared (recommended)"
UNNAMED = (
    "was not compared by persons' names, as not each of its rows has one or those of the private"
    " rows are not kept: you state that none of its people is private, too."
)
_SHARE, _NONE = (
    "A random share of them is public: ε does not protect it",
    "None: public rows are made up, or come from another data set",
)


def panel(settings: Settings) -> bool:
    """Uploads or paths with what was understood of them; for what is kept, where it lies, how to
    use it and “forget this data set”.

    Whether a file waits for its questions or its button: the page then shows no other set.
    """
    if mode.binds():
        st.info(
            f"This is a public server: bringing your own rows is off. {mode.ADVICE}",
            icon=":material/public:",
        )
        return False
    reader.prepare()
    st.caption(
        "Rows stay on the machine that runs this app, in its cache (readable by its user only)."
        " Nothing is sent elsewhere. Rows without test labels can be trained on but not scored."
    )
    if codec.is_stored("data", settings.data):
        told = "**Your rows are the private data** of every page now."
        if settings.public == PART:
            told += (
                f" {100 * settings.public_fraction:g} % of them count as public, which ε does not"
                " protect: the sidebar has other choices."
            )
        elif settings.public == NONE:
            told += " None of them counts as public: say below where public rows come from."
        st.success(told, icon=":material/lock:")
        navigation.link("answer", f"Train on them on {navigation.title('answer')}")
    for upload in uploads.list_uploads():
        with st.container(border=True, key=f"kept-{uploads.key_of(upload.name)}"):
            st.text(upload.title)
            st.caption(plain.text(upload.understood))
            with st.container(horizontal=True, gap="small"):
                _buttons(upload, settings)
    with failures.show_refusal(
        "This file cannot be read.",
        advice="Bring another file. A public table of words needs the private one beside it.",
    ):
        private = _files(
            PRIVATE,
            "Private rows: features, a table or images",
            "npz (x_train, y_train, x_test, y_test, classes, persons), a table (one row per"
            " example, a label column), zip of images. Reading may take half of the memory that is"
            " free.",
            "Or a path on the machine that runs this app",
            "A folder of images (one subfolder per class, train/ and test/ where there are both),"
            " or a table, npz or zip.",
            "/data/my-images",
        )
        public = _files(
            PUBLIC,
            "Public rows, if you have any",
            "Candidates. Of tables the same columns as the private one; the label column may be"
            " absent.",
            "Or their path, or the name of a data set",
            "As above; or a data set of the app by name, `torchvision:` and `hub:` among them.",
            "/data/public.npz or mnist",
        )
        if private:
            _judge(Answers(private[0], public), settings)
        elif public:  # kept beside the private data that the settings name
            beside = uploads.load(settings.data) if uploads.is_here(settings.data) else None
            fitting = [
                each for each in public if _count_public((_beside(each, beside), each.name), beside)
            ]
            st.button(
                label="Use as public data",
                key="use-public",
                help="Stores them in the cache; the first becomes the public data of every page.",
                type="primary",
                on_click=_keep_public,
                args=(fitting,),
                disabled=not fitting,
            )
        return bool(private or public)
    return True


def _files(
    widget: str, label: str, hint: str, path_label: str, path_hint: str, example: str
) -> list[File]:
    """What was sent, then what a path on this machine names, or the name of a data set."""
    left, right = st.columns(2)
    left.file_uploader(label, key=widget, help=hint, accept_multiple_files=widget == PUBLIC)
    key = local.unlinked_key(PATHS[widget], FILE)
    path = right.text_input(path_label, key=key, help=path_hint, placeholder=example).strip()
    if path:
        mode.refuse("path")
    return [*new_files(widget), *([File(None, path)] if path else [])]


def _judge(answers: Answers, settings: Settings) -> None:
    """What was understood of the private file, the question which rows are public, and the button
    that keeps all of them."""
    if (private := _with_keys(answers.private)) is None:
        return
    answers, is_shared = dataclasses.replace(answers, private=private), None
    place, question = st.container(), st.container()
    are_tables = all(file.is_table() for file in (private, *answers.public))
    if are_tables:
        if not answers.public:
            with question:
                is_shared = _share_or_none()
        with place:
            share = settings.public_fraction if is_shared else None
            complete = columns.ask(answers, share, is_answered=is_shared is not None)
        if complete is None:
            _use_button(answers, None)
            return
        answers = complete
    try:
        rows, makers = answers.rows()
    except PillarError as refusal:
        with place:
            _show_refusal(refusal)
        return
    with place:
        _verdict(rows)
        counts = [_count_public(maker, rows) for maker in makers]
        is_drawn = bool(rows.test_drawn) and (bool(answers.recipe.label) or not rows.persons)
        by_coin = is_drawn and _asks_for_coin("person" if rows.persons else "row")
        notes = (*reports.lone_rows(rows), *rows.notes)
        list_notes([BY_COIN_NOTE if by_coin and note == SET_APART else note for note in notes])
    public = list(itertools.compress(answers.public, counts))
    answers = dataclasses.replace(answers, public=public, by_coin=by_coin)
    choice: str | None = ""
    with question:
        if not any(counts):
            if answers.public or not are_tables:
                is_shared = _share_or_none()
            choice = _choice(rows, is_shared, settings)
        elif answers.share is None:
            _consequence(reports.share_words(rows, None), is_shared=False)
        else:
            total = counts[0] + len(rows.x_train)
            _consequence(
                f"{counts[0]:,} of these {total:,} train rows become public: ε does not protect"
                " them, and what is released may show them. They are kept as a set of their own.",
                is_shared=True,
            )
    _use_button(answers, choice)
    _preview(rows)


def _with_keys(file: File) -> File | None:
    """The file with the names of its rows and labels, where its arrays do not say which are; None
    before its owner says."""
    if Path(file.name).suffix.lower() != ".npz":
        return file
    try:
        shapes = npz.uncertain(open_source(file.name if file.content is None else file.content))
    except DataError:  # what reads the file says what is wrong with it
        return file
    if all(len(shape) < 2 for shape in shapes.values()):
        return file
    keys = columns.ask_arrays(shapes)
    return dataclasses.replace(file, keys=keys) if keys else None


def _count_public(maker: Maker, private: FeatureSet | Dataset | None) -> int:
    """How many public rows a set brings, which is said; 0 where it does not fit private rows, and
    it is said why not."""
    make, title = maker
    named = plain.text(Path(title).name)
    try:
        rows = make()
        notes = [note for note in rows.notes if note not in (SET_APART, NO_TEST)]
        if private is not None:
            notes = [note for note in notes if note not in private.notes]
            notes += _fit(rows, private)
            _doubt_roles(private, rows, named)
    except PillarError as error:
        why = plain.text(error.problems[0])
        st.warning(f"{named} cannot be public here: {why}", icon=":material/block:")
        return 0
    count = reports.count_rows(rows) if rows.test_drawn else len(rows.x_train)
    line = f":material/public: {named}: {count:,} public rows, {len(rows.classes)} classes."
    st.caption(" ".join([line, *map(plain.text, dict.fromkeys(notes))]))
    return count


def _fit(rows: FeatureSet | Dataset, private: FeatureSet | Dataset) -> tuple[str, ...]:
    """What became of public rows that fit private ones, a line each.

    Raises DataError: they do not fit.
    """
    notes: tuple[str, ...] = ()
    kinds = ["images" if each.x_train.ndim > 2 else "numbers" for each in (rows, private)]
    if kinds[0] != kinds[1]:
        raise DataError(f"it holds {kinds[0]}, and the private rows are {kinds[1]}.")
    if isinstance(private, FeatureSet) and isinstance(rows, FeatureSet):
        rows, notes = splitting.match_private(rows, private)
        if private.persons and not rows.apart_from:
            notes += (f"It {UNNAMED}",)
    if kinds[0] == "numbers" and rows.x_train.shape[1:] != private.x_train.shape[1:]:
        raise DataError(
            f"it has {rows.x_train.shape[1]:,} features, and the private rows have"
            f" {private.x_train.shape[1]:,}: extract both with one backbone."
        )
    if rows.y_train is not None and (unused := splits.unused_labels(rows.classes, private.classes)):
        notes = (unused, *notes)
    return notes


def _doubt_roles(private: FeatureSet | Dataset, public: FeatureSet | Dataset, named: str) -> None:
    """Asks whether private and public files were swapped, where the public one looks more like what
    somebody protects."""
    n_private, n_public = reports.count_rows(private), reports.count_rows(public)
    if (
        len(public.classes) > 1
        and set(public.classes) == set(private.classes)
        and n_public > n_private
    ):
        st.warning(
            f"**Were private and public files swapped?** {named} holds more labelled rows of the"
            f" same classes, {n_public:,} against {n_private:,}. ε protects the private"
            " file's rows alone; the public one's may all be shown.",
            icon=":material/swap_horiz:",
        )


def _verdict(rows: FeatureSet | Dataset) -> None:
    """What was found in a file."""
    n_train, n_classes = len(rows.x_train), len(rows.classes)
    st.success(f"**Ready.** {plain.text(reports.understood(rows))}", icon=":material/check_circle:")
    if n_classes > MANY_CLASSES and n_train < ROWS_A_CLASS * n_classes:
        st.warning(
            f"**Are these labels numbers to predict?** {n_classes:,} of them stand"
            f" in {n_train:,} rows: under noise nothing is learnt of a class with fewer"
            f" than {ROWS_A_CLASS} rows. Cut numbers into bins, or join classes.",
            icon=":material/help:",
        )


def _show_refusal(refusal: PillarError) -> None:
    """What is wrong with a file."""
    st.error("**This file cannot be used yet.**", icon=":material/error:")
    list_lines(refusal.problems)
    st.button(
        "Check again",
        key="upload-check",
        help=(
            "After it was stopped, or after a change far down in a large folder: the page itself"
            " looks at the first files alone."
        ),
        icon=":material/replay:",
        on_click=memory.forget,
        args=(memory.FILES,),
    )


def _asks_for_coin(unit: str) -> bool:
    """Whether a secret coin of each row or person alone shall draw the test rows."""
    return st.toggle(
        f"Draw the test rows by a secret coin of each {unit}",
        key=local.unlinked_key("upload-coin", FILE),
        help=(
            "For a model that you release with a private test. The larger ε of training and tests"
            f" then holds for both, where neighbours differ by one {unit} added or removed. Else a"
            " fifth of each class is drawn, the same every time, and the two add up."
        ),
    )


def _share_or_none() -> bool | None:
    """Whether a share of the private file's rows is public; None before the user says."""
    choice = st.radio(
        label="Which of your rows may everyone see?",
        key=local.unlinked_key("upload-public", FILE),
        options=[_SHARE, _NONE],
        index=None,
    )
    return None if choice is None else choice == _SHARE


def _choice(rows: FeatureSet | Dataset, is_shared: bool | None, settings: Settings) -> str | None:
    """Which rows are public where no file brings them: a share of the private ones, or the set that
    is chosen; None before that."""
    if is_shared is None:
        return None
    try:
        words = reports.share_words(rows, settings.public_fraction if is_shared else None)
    except DataError as refusal:
        _offer_share(rows, refusal)
        return None
    choice = PART if is_shared else _other_public(rows)
    if choice is not None:
        _consequence(words, is_shared=is_shared)
    if rows.persons and not is_shared and choice not in (None, raw.MADE_UP):
        list_notes([f"{uploads.title_of(str(choice))} {UNNAMED}"])
    return choice


def _offer_share(rows: FeatureSet | Dataset, refusal: DataError) -> None:
    """What to do where the share of a small file makes too few rows public: a larger share, or
    other public rows."""
    st.info(f"**A larger share is needed.** {plain.text(refusal)}", icon=":material/help:")
    low, high = PARAMS["public_fraction"].low, PARAMS["public_fraction"].high
    share = None
    for percent in range(round(100 * low), round(100 * high) + 1):
        with contextlib.suppress(DataError):
            reports.share_words(rows, percent / 100)
            share = percent / 100
            break
    with st.container(horizontal=True):
        if share is not None:
            st.button(
                label=f"Make {share:.0%} of them public",
                key="upload-larger-share",
                type="primary",
                on_click=session.change,
                kwargs={"public_fraction": share},
            )
        st.button(
            label="Take public rows from elsewhere",
            key="upload-elsewhere",
            on_click=st.session_state.update,
            args=({"upload-public": _NONE},),
        )


def _other_public(rows: FeatureSet | Dataset) -> str | None:
    """The set whose rows are public, chosen among those that fit; None before the choice. Rows that
    can be made up come first."""
    is_images = rows.x_train.ndim > 2
    can_make_up = isinstance(rows, FeatureSet) and not raw.why_not_made_up(rows)
    kind, other_kind = (uploads.IMAGES, "tabular") if is_images else (uploads.FEATURES, "images")
    fitting = [name for name in visitors.names_here() if data.DATASETS[name].kind != other_kind]
    fitting += [
        upload.name
        for upload in uploads.list_uploads(kind)
        if is_images or upload.shape == rows.x_train.shape[1:]
    ]
    chosen = st.selectbox(
        "Public rows come from",
        [*([raw.MADE_UP] if can_make_up else []), *fitting],
        key=local.unlinked_key("upload-other", FILE),
        help=(
            "A data set whose rows have as many features as yours; images are brought to the size"
            " of yours. Made-up rows come from the ranges and words that you declared: better than"
            " none, behind real ones."
        ),
        format_func=lambda name: _MADE_UP if name == raw.MADE_UP else uploads.title_of(name),
        index=0 if can_make_up else None,
    )
    if chosen == raw.MADE_UP:
        badges.show(badges.MADE_UP)
    return chosen


def _consequence(meaning: str, *, is_shared: bool) -> None:
    """What the choice means for the rows, counted."""
    if is_shared:
        advice = (
            "Choose this only if those people agreed, or to experiment; the sidebar sets the share."
        )
        st.warning(f"{plain.text(meaning)} {advice}", icon=":material/lock_open:")
    else:
        st.info(
            f"{plain.text(meaning)} The closer they are to yours, the better.",
            icon=":material/lock:",
        )
        navigation.link("public_data", f"Compare candidates on {navigation.title('public_data')}")


def _use_button(answers: Answers, choice: str | None) -> None:
    """The button that keeps what was judged."""
    st.button(
        label="Use these rows as private data",
        key="use-upload",
        type="primary",
        help=(
            "First say what is asked above." if choice is None else "Stores the rows in the cache."
        ),
        on_click=_keep,
        args=(answers, choice),
        disabled=choice is None,
    )


def _preview(rows: FeatureSet | Dataset) -> None:
    """The first rows as a model sees them: pictures, or numbers under their names."""
    st.caption("The first rows, as a model sees them")
    n_train = len(rows.x_train)
    if rows.x_train.ndim > 2:
        numbers = list(range(0, n_train, max(1, n_train // THUMBNAILS)))[:THUMBNAILS]
        show_rows(
            rows.x_train,
            numbers,
            [] if rows.y_train is None else [rows.classes[rows.y_train[row]] for row in numbers],
        )
    else:
        st.dataframe(reports.preview(rows), hide_index=True, key="upload-preview")


def _keep(answers: Answers, choice: str) -> None:
    """A callback: private rows and public sets become the data of every page; public rows are made
    and kept set by set. choice: the public set's name, "" for the first that was brought."""
    with failures.note_refusal("The rows could not be stored"):
        rows, makers = answers.rows()
        title = Path(answers.private.name).name
        if rows.y_train is None:
            raise DataError(
                f"{title} has no labels, which private rows need. Were private and public files"
                " swapped?"
            )
        reports.share_words(rows, session.current().public_fraction if choice == PART else None)
        if isinstance(rows, FeatureSet) and not raw.why_not_made_up(rows):
            made_up = functools.partial(raw.made_up, rows), MADE_UP_FOR.format(title)
            is_chosen = choice == raw.MADE_UP  # else a candidate on Public data
            makers = [made_up, *makers] if is_chosen else [*makers, made_up]
        names = [_keep_set(make(), name, rows) for make, name in makers]
        session.use(
            uploads.keep(rows, title=title),
            names[0] if choice in ("", raw.MADE_UP) else choice,
        )
        let_go([answers.private, *answers.public])


def _keep_public(files: Sequence[File]) -> None:
    """A callback: the first of these sets becomes the public data of every page."""
    with failures.note_refusal("The rows could not be stored"):
        name = session.current().data
        private = uploads.load(name) if uploads.is_name(name) else None
        names = [_keep_set(_beside(file, private)(), file.name, private) for file in files]
        session.change(public=names[0])
        let_go(files)


def _beside(file: File, private: FeatureSet | Dataset | None) -> Callable[[], FeatureSet | Dataset]:
    """What makes a public file's rows: of a table by the recipe of the private ones."""
    if not isinstance(private, FeatureSet) or not private.recipe or not file.is_table():
        return file.rows
    recipe = recipes.recipe_of(private.recipe)
    read = functools.partial(columns.read_table, file, recipe)
    named = columns.names_in(file, recipe)
    return functools.partial(columns.public_rows, read, file.name, named, recipe, private)


def _keep_set(rows: FeatureSet | Dataset, name: str, private: FeatureSet | Dataset | None) -> str:
    """The name of a public set: of the registry, or of what is now kept. Test rows that reading
    drew are rows like the others."""
    if (
        private is not None
        and rows.x_train.shape == private.x_train.shape
        and (rows.x_train == private.x_train).all()
    ):
        raise DataError(
            f"{Path(name).name} holds the private rows themselves: choose another file as public."
        )
    if name in data.DATASETS:
        return name
    return uploads.keep(without_drawn_test(rows), title=Path(name).name)


def _buttons(upload: Upload, settings: Settings) -> None:
    key, is_private, is_public = (
        uploads.key_of(upload.name),
        upload.name == settings.data,
        upload.name == settings.public,
    )
    if is_private or is_public:
        st.badge("Private now" if is_private else "Public now", icon=":material/check:")
    if upload.is_labelled and not is_private:
        st.button(
            label="Use as private",
            key=f"kept-private-{key}",
            help="Protects these rows on every page.",
            on_click=session.use,
            args=(upload.name,),
        )
    if not (is_private or is_public) and core.may_be_public(upload, settings):
        st.button(
            label="Use as public",
            key=f"kept-public-{key}",
            help=(
                "Takes the public rows of every page from here, without protection. They are of the"
                " private data's kind."
            ),
            on_click=session.change,
            kwargs={"public": upload.name},
        )
    st.download_button(
        label="Save as a file",
        key=f"kept-save-{key}",
        help=(
            "A npz with its rows, unprotected, as commands name it: they run beside it on any"
            " machine."
        ),
        on_click="ignore",
        data=lambda: npz_of(uploads.load(upload.name)),
        file_name=file_of(upload.name),
    )
    with st.popover("Forget this data set" if is_private else "Forget", icon=":material/delete:"):
        st.markdown(
            "Its rows, and models and features made from them, leave the cache and memory. Records"
            " of runs hold no rows and stay; so does what was spent, which these same rows find"
            " again, and files that share only some of them do not."
        )
        st.button(
            "Delete them now",
            key="forget" if is_private else f"kept-forget-{key}",
            type="primary",
            on_click=forget,
            args=(upload.name,),
        )


def forget(name: str) -> None:
    """A callback: the rows leave the disk and the memory, and no setting names them any more."""
    forget_data(name)
    memory.forget(uploads.key_of(name), memory.FILES)
    settings = session.current()
    if settings.data == name:
        session.use(Settings().data)
    elif settings.public == name:
        session.change(public=session.public_side(settings.data))
    session.note(
        "The rows and their features were deleted from the cache and from memory. What was spent"
        " on them stays on their account."
    )
