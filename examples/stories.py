"""Ten explorers, each one HTML file with a question and a surprise, from records that ship: python
examples/stories.py [FOLDER] [ADDRESS]

ADDRESS: of an app that the files lead back to, such as https://pillar.example.
"""

import sys
from pathlib import Path
from urllib.parse import urlencode

from pillar_core.studies.portable import STORIES, page

folder, address = (
    Path(sys.argv[1] if len(sys.argv) > 1 else "stories"),
    (sys.argv[2] if len(sys.argv) > 2 else ""),
)
folder.mkdir(parents=True, exist_ok=True)
for story in STORIES:
    learner, epsilon, k = story.opening
    settings = {"v": 2, "data": story.dataset, "method": learner, "epsilon": epsilon, "k": k}
    text = page(
        story.dataset,
        story=story,
        link=f"{address}/curves?{urlencode(settings)}" if address else "",
    )
    file = folder / f"{story.name}.html"
    file.write_text(text, encoding="utf-8")
    print(f"{file}: {len(text.encode()) / 1000:.0f} kB, {story.question}")
print(f"{len(STORIES)} stories")
