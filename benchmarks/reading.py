"""Time and memory of reading tables against columns and rows, beside pandas in the same run:
`python benchmarks/reading.py`.

Each file is read in two new processes, by `load_features` and by pandas alone. A line has the CPU
seconds and the peak memory of both, their ratios, and what a cell costs beside the smallest table
of its series: about 1 where reading is linear. Arguments choose formats, and `--columns`, `--rows`
larger tables: 50000 and 10000000 are the largest that were measured.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from engine import Watch

import pillar_core as pc

COLUMNS, ROWS = (2_000, 4_000, 8_000), (100_000, 200_000, 400_000)
FEW_ROWS, FEW_COLUMNS = 90, 5
MOST_IN_EXCEL = 16_000
PIECE = 200_000
READERS = {"csv": pd.read_csv, "parquet": pd.read_parquet, "xlsx": pd.read_excel}


def main() -> None:
    if sys.argv[1:2] == ["--one"]:
        measure(*sys.argv[2:])
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("formats", nargs="*", default=["csv", "parquet", "frame", "xlsx"])
    parser.add_argument("--columns", type=int, nargs="*", default=COLUMNS)
    parser.add_argument("--rows", type=int, nargs="*", default=ROWS)
    options = parser.parse_args()
    for form in options.formats:
        is_excel = form == "xlsx"
        series(
            form,
            [
                (FEW_ROWS, columns)
                for columns in options.columns
                if not is_excel or columns <= MOST_IN_EXCEL
            ],
        )
        series(form, [(rows // 100 if is_excel else rows, FEW_COLUMNS) for rows in options.rows])


def series(form: str, shapes: list[tuple[int, int]]) -> None:
    """Prints a line for each shape (rows, columns) of one format."""
    first: float | None = None
    for rows, columns in shapes:
        with tempfile.TemporaryDirectory() as folder:
            path = write(
                Path(folder) / f"table.{'parquet' if form == 'frame' else form}", rows, columns
            )
            command = [sys.executable, __file__, "--one", form, str(path)]
            ours, pandas = (
                json.loads(
                    subprocess.run(
                        [*command, who], check=True, capture_output=True, text=True
                    ).stdout
                )
                for who in ("ours", "pandas")
            )
        each = ours["seconds"] / (rows * columns)
        first = first or each
        print(
            f"{form:<8}{rows:>11,} rows {columns:>7,} columns: {ours['seconds']:8.2f} s"
            f" {ours['mb']:7,.0f} MB; pandas {pandas['seconds']:7.2f} s {pandas['mb']:7,.0f} MB;"
            f" ratio {ours['seconds'] / max(pandas['seconds'], 0.01):6.1f} in time,"
            f" {ours['mb'] / max(pandas['mb'], 1):5.1f} in memory; a cell {each / first:.2f}",
            flush=True,
        )


def write(path: Path, rows: int, columns: int) -> Path:
    """A file of numbers and labels, written piece by piece."""
    import pyarrow
    import pyarrow.parquet

    draw, writer = np.random.default_rng(0), None
    for start in range(0, rows, PIECE):
        size = min(PIECE, rows - start)
        piece = pd.DataFrame(
            draw.normal(size=(size, columns)).round(2),
            columns=[f"g{place}" for place in range(columns)],
        )
        piece = piece.assign(label=np.resize(["t", "u", "v"], size))
        if path.suffix == ".csv":
            piece.to_csv(path, mode="a", header=not start, index=False)
        elif path.suffix == ".xlsx":
            piece.to_excel(path, index=False)
        else:
            table = pyarrow.Table.from_pandas(piece, preserve_index=False)
            writer = writer or pyarrow.parquet.ParquetWriter(path, table.schema)
            writer.write_table(table)
    if writer is not None:
        writer.close()
    return path


def measure(form: str, path: str, who: str) -> None:
    """Prints the CPU seconds and the peak memory of one reading, of a frame without those of making
    it."""
    import pillar_core.data.raw  # noqa: F401  # imports are no reading

    pc.load_features(pd.DataFrame({"x": range(20), "label": ["a", "b"] * 10}))
    source = pd.read_parquet(path) if form == "frame" else path
    with Watch() as watch:
        began = time.process_time()
        if who == "pandas":
            source.copy() if form == "frame" else READERS[form](path)
        else:
            pc.load_features(source)
        seconds = time.process_time() - began
    print(json.dumps({"seconds": seconds, "mb": watch.peak}))


if __name__ == "__main__":
    main()
