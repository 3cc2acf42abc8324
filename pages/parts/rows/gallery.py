"""The data sets: those that come with the app as cards, those of the papers with what they need to
be here."""

import streamlit as st

import pillar_core as pc
from pages.frame import failures, jobs, local, navigation, plain, session
from pages.frame.settings import PART, Settings
from pillar_core import mode
from pillar_core.data import uploads, visitors
from pillar_core.data.cards import DatasetCard, fact_text
from pillar_core.jobs.kinds import extraction, fetch
from pillar_core.jobs.state import UNFINISHED

_ICONS = {
    "images": ":material/image:",
    "tabular": ":material/table:",
    "texts": ":material/notes:",
    "generator": ":material/auto_awesome:",
}
_ACROSS = 4
_OWN = "by name"


def cards(settings: Settings) -> None:
    """One card for each data set that comes with the app, with licence, size and a button."""
    names = [name for name, card in pc.DATASETS.items() if not card.needs_files]
    for start in range(0, len(names), _ACROSS):
        for column, name in zip(st.columns(_ACROSS), names[start : start + _ACROSS], strict=False):
            with column, st.container(border=True, key=f"card-{name}", height="stretch"):
                _card(name, settings)


def papers(settings: Settings) -> None:
    """The papers' data sets, one in detail with how to get it and where it lies."""
    names = [name for name, card in pc.DATASETS.items() if card.needs_files]
    offered = [
        *names,
        *(name for name in visitors.names_here() if name not in tuple(pc.DATASETS)),
        _OWN,
    ]
    titles = {
        name: "Another one, by its name …" if name == _OWN else pc.DATASETS[name].title
        for name in offered
    }
    name = local.select(
        "paper-set",
        titles,
        settings.data if settings.data in offered else names[0],
        label="Data set of the papers",
        help=(
            "Their rows do not come with the app: they are read from files on the machine that runs"
            " it."
        ),
    )
    if name == _OWN:
        name = st.text_input(
            label="Its name",
            key=local.unlinked_key("paper-name", "What is here is in the list."),
            help=(
                "hub:<owner>/<name>, openml:<table>, torchvision:<name> or medmnist:<name>;"
                " chest_xray14:3: ε of a patient, up to 3 images."
            ),
            placeholder="hub:ylecun/mnist",
            persist_state="session",
        ).strip()
    if name in pc.DATASETS:
        _detail(name, settings)
    elif name:
        st.caption(f"There is no data set {plain.text(name)}: check its spelling.")


def place(name: str) -> int:
    """The tab to open with: 2, papers' sets, for one of these; else 0, your own, or 1, the app's
    sets, on a server that takes no rows."""
    return 2 if name in pc.DATASETS and pc.DATASETS[name].needs_files else int(mode.binds())


def _card(name: str, settings: Settings) -> None:
    card = pc.DATASETS[name]
    _head(
        card, "synthetic" if card.synthetic else "real data", settings, is_green=not card.synthetic
    )
    if settings.data != name:
        _use(name)


def _head(card: DatasetCard, words: str, settings: Settings, *, is_green: bool) -> None:
    st.markdown(f"**{_ICONS.get(card.kind, '')} {card.title}**")
    with st.container(horizontal=True, gap="small"):
        st.badge(words, color="green" if is_green else "gray")
        if settings.data == card.name:
            st.badge("in use", color="violet", icon=":material/check:")
    is_shipped, facts = not card.needs_files, (card.n_train, card.n_test, card.d, card.n_classes)
    n_train, n_test, d, n_classes = (fact_text(fact, in_short=is_shipped) for fact in facts)
    size = (
        f"{d} features · {n_classes} classes"
        if is_shipped
        else f"{d} · {n_classes} classes · {card.size}"
    )
    st.caption(f"{n_train} train and {n_test} test rows · {size}")
    used = f" Used in: {', '.join(card.papers)}." if card.papers else ""
    st.caption(f"{card.source}. Licence: {card.licence}.{used}")


def _use(name: str) -> None:
    st.button(
        label="Use this",
        key=f"use-{name}",
        on_click=session.use,
        args=(name,),
    )


def _detail(name: str, settings: Settings) -> None:
    card = pc.DATASETS[name]
    is_here = visitors.is_offered("data", name) and card.is_here()
    with st.container(border=True, key=f"card-{name}"):
        _head(
            card,
            "on this machine" if is_here else "not on this machine",
            settings,
            is_green=is_here,
        )
        getting = jobs.status_of(fetch.specification(name)) if card.can_fetch else None
        is_coming = getting is not None and getting.state in UNFINISHED
        if mode.binds():
            st.info(
                f"This is a public server: it fetches nothing. {mode.ADVICE}",
                icon=":material/public:",
            )
            return
        if card.can_fetch and (is_coming or not is_here):
            _get(name, card, is_coming=is_coming)
        elif is_here:
            _explore(name, card, settings)
        if not is_here and not is_coming:
            st.info(plain.without_paths(card.how_to_get()), icon=":material/download:")
            st.text_input(
                label="Where it lies on this machine",
                key=local.unlinked_key(
                    f"root-{name}", "A path on this machine, of use to nobody else."
                ),
                help=(
                    "A folder or file on the machine that runs this app, as the source hands it"
                    " out."
                ),
                placeholder="/data/…",
                on_change=_from_place,
                args=(name,),
            )


def _get(name: str, card: DatasetCard, *, is_coming: bool) -> None:
    """*Get it*: the files as a job, which hands the images on to the extraction."""
    size, licence, n_bytes = card.size, card.licence, card.n_bytes
    if card.ask is not None:
        n_bytes, licence = (
            local.value(f"bytes-{name}", 0),
            local.value(f"licence-{name}", "") or licence,
        )
        size = f"{n_bytes / 2**20:,.1f} MB"
        if not (n_bytes or is_coming):
            st.button(
                label="How large is it?",
                key="get-ask",
                help="Asks the source for its size and licence; nothing is fetched.",
                icon=":material/straighten:",
                on_click=_ask,
                args=(name,),
            )
            return
    then = "" if fetch.backbone_of(name) is None else " Its features follow by themselves."
    cost = f"{jobs.line(size, n_bytes)}; licence: {plain.text(licence)}.{then}"
    jobs.panel(
        [fetch.specification(name)],
        jobs.Work(card.short_title, cost=cost, unit="download", button="Get it"),
        key="get",
    )


def _ask(name: str) -> None:
    ask = pc.DATASETS[name].ask
    with failures.note_refusal("The source could not be asked"):
        mode.refuse("fetch")
        n_bytes, licence = (0, "") if ask is None else ask()
        local.put(f"bytes-{name}", n_bytes)
        local.put(f"licence-{name}", licence)


def _explore(name: str, card: DatasetCard, settings: Settings) -> None:
    """What to do with a set that is here: its extraction, where one was begun by *Get it*, then the
    link to its curve."""
    backbone = fetch.backbone_of(name) if card.can_fetch else None
    status = jobs.status_of(extraction.specification(name, backbone)) if backbone else None
    if backbone is None or status is None:
        if settings.data != name:
            _use(name)
    elif status.state == "done":
        navigation.link(
            "curves", "Explore it", changes={"data": name, "public": PART, "backbone": backbone}
        )
    else:
        work = jobs.Work(f"Features of {card.short_title}", unit="extraction", button="Extract")
        jobs.panel([extraction.specification(name, backbone)], work, key="get")


def _from_place(name: str) -> None:
    place = st.session_state[f"root-{name}"].strip()
    if place:
        with failures.note_refusal("The data set could not be read"):
            mode.refuse("path")
            session.use(uploads.keep(pc.load_dataset(name, root=place)), PART)
