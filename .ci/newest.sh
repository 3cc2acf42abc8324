#!/usr/bin/env bash
# Run by hand: all tests but the browser's with the newest Streamlit, torch, Opacus and others that the bounds of the requirements allow, in an
# environment that is thrown away (7 GB). Arguments go to pytest.
set -euo pipefail
cd "$(dirname "$0")/.."

home="$(mktemp -d)"
trap 'rm -rf "$home"' EXIT
python3 -m venv "$home"
"$home/bin/python" -m pip install --upgrade --upgrade-strategy eager -r requirements-dev.txt
"$home/bin/python" -m pip list --outdated # what the bounds keep out
"$home/bin/python" -m pytest -m "not e2e" "$@"
