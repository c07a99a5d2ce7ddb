"""Notes the processor time of every example: sphinx-gallery itself notes that of the clock."""

import json
import os
from pathlib import Path
from typing import Any

STARTED: dict[str, float] = {}


def spent() -> float:
    """Seconds of the processor so far, those of processes that have ended included."""
    return sum(os.times()[:4])


def note_seconds(gallery_conf: dict[str, Any], fname: str | None, when: str) -> None:
    """Called before and after each example, of which it is told the name of the file; writes its
    seconds into the gallery. For a folder of examples there is no name."""
    if fname is None:
        return
    stem = Path(fname).stem
    if when == "before":
        STARTED[stem] = spent()
    elif stem in STARTED:
        noted = Path(gallery_conf["src_dir"]) / "gallery" / f"{stem}.seconds.json"
        noted.write_text(json.dumps(spent() - STARTED.pop(stem)), "utf-8")
