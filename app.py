"""PILLAR explorer: `streamlit run app.py`. Page configuration, frame and navigation; the pages are
in pages/.

Streamlit imports this module for its server, which answers once `warming.ahead` has imported what
first results need, and runs it as a script for each visitor.
"""

from __future__ import annotations

import streamlit as st

from pages.frame import warming

if __name__ == "__main__":
    from pages.frame import exports, failures, navigation, session, shares, sidebar, theme

    st.set_page_config(page_title="PILLAR explorer", page_icon=theme.ICON, layout="wide")
    with failures.catch_errors():
        window = theme.apply()
        session.synchronise()
        page = st.navigation(navigation.pages(), position="hidden")
        has_sidebar = navigation.has_sidebar(page.url_path)
        missing = session.missing() if navigation.needs_rows(page.url_path) else ""
        navigation.bar(page.url_path or navigation.PAGES[0][0])
        if has_sidebar and not missing:
            sidebar.draw(
                are_near=theme.is_narrow() and page.url_path in navigation.NEAR,
                are_rows=page.url_path != navigation.MADE_UP,
            )
        exports.report_panel()
        session.publish()
        session.show_notes()
        shares.words()
        if missing:
            session.show_missing(missing)
        else:
            navigation.run(page)
        theme.measure(window)
    warming.begin()
else:
    from starlette.middleware import Middleware

    from pages.frame import browser, door, navigation, shares

    door.end_if_refused()
    routes = [
        browser.plotly_route(),
        shares.ready_route(door.place(door.READY)),
        *navigation.former_routes(),
    ]
    app = st.App(
        __file__, lifespan=warming.ahead, routes=routes, middleware=[Middleware(door.Door)]
    )
