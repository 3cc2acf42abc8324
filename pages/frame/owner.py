"""Whose browser this is: a random token in a cookie, so that a reload and a second tab are one person and another browser is not.

The cookie comes with the connection. A first visit has none yet: the session draws a token and a script of the page keeps it; a tab that
finds that another tab was quicker connects anew. Without cookies a person is as long as a visit.
"""

import functools
import re
import secrets
from urllib.parse import urlsplit

import streamlit as st
from streamlit.runtime.scriptrunner import get_script_run_ctx

from pillar_core.data import owners, visitors
from pillar_core.data.owners import Asker
from pillar_core.fingerprint import fingerprint

COOKIE, TOKEN = "pillar_owner", "owner.token"
_LOOPBACK = ("127.0.0.1", "localhost", "::1")
_PROXIED = ("forwarded", "x-forwarded-", "x-real-ip", "via", "cf-")
_SCRIPT = """<script>
  const found = document.cookie.match(/(?:^|; )COOKIE=([0-9a-f]{64})(?:;|$)/);
  if (!found || found[1] === "TOKEN") {
    document.cookie = "COOKIE=TOKEN; path=/; max-age=34560000; SameSite=Strict" + (location.protocol === "https:" ? "; Secure" : "");
    sessionStorage.removeItem("COOKIE");
  } else if (!sessionStorage.getItem("COOKIE")) {
    sessionStorage.setItem("COOKIE", "asked");
    location.reload();
  }
</script>"""


def remember() -> None:
    """Has the browser keep the token of this visit, for the longest that browsers allow."""
    with st.container(key="owner"):
        st.html(_SCRIPT.replace("COOKIE", COOKIE).replace("TOKEN", _token()), unsafe_allow_javascript=True)


def _token() -> str:
    if TOKEN not in st.session_state:
        sent = str(st.context.cookies.get(COOKIE, ""))
        st.session_state[TOKEN] = sent if re.fullmatch(r"[0-9a-f]{64}", sent) else secrets.token_hex(32)
    return str(st.session_state[TOKEN])


def _asker() -> Asker | None:
    """The browser behind this run of a page; in a server's other threads nobody, who owns nothing."""
    if get_script_run_ctx(suppress_warning=True) is None:
        return Asker("nobody") if st.runtime.exists() else None
    opened = frozenset(str(st.session_state.get(f"set.{name}", "")) for name in ("data", "public"))
    return Asker(_named(_token()), not visitors.is_on() and is_at_server(), opened)


@functools.lru_cache(maxsize=1024)
def _named(token: str) -> str:
    return fingerprint("owner", token)


def is_at_server() -> bool:
    """Whether the browser is at this machine: the server listens on the loopback and was asked for by its name, not through a proxy."""
    headers = {name.lower(): value for name, value in st.context.headers.items()}
    asked = urlsplit(f"//{headers.get('host', _LOOPBACK[0])}").hostname
    return st.get_option("server.address") in _LOOPBACK and asked in _LOOPBACK and not any(name.startswith(_PROXIED) for name in headers)


owners.asked_by(_asker)
