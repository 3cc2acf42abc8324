#!/usr/bin/env bash
# Run by hand before a release: whether every requirement and every extra has a wheel on each Python that is promised, so that nobody
# needs a compiler. Resolves and installs nothing; takes some minutes and the network.
set -euo pipefail
cd "$(dirname "$0")/.."

folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
for version in 3.11 3.12 3.13 3.14; do
  python3 -m pip install --quiet --dry-run --ignore-installed --only-binary=:all: --python-version "$version" --target "$folder" \
    -r requirements-dev.txt '.[all]'
  echo "Python $version: every requirement has a wheel"
done
