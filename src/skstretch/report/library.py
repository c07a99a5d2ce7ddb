"""The script that draws the charts of a page: Vega, Vega-Lite and Vega-Embed as one text.

Bundling takes longer than the rest of most pages, and gives the same for the same versions: so the
text is kept in the cache folder of the user, where one is. Whoever deletes it loses a second.
"""

import contextlib
import functools
import hashlib
import os
import re
import sys
from importlib.metadata import version
from pathlib import Path

import altair

from skstretch.io.files import replacing


@functools.cache
def library() -> str:
    """Vega, Vega-Lite and Vega-Embed, in the version that altair writes for."""
    of_lite = "_".join(altair.SCHEMA_VERSION.split(".")[:2])
    folder = cache_folder()
    kept = None if folder is None else folder / f"vega-{version('vl-convert-python')}-{of_lite}.js"
    found = None if kept is None else _read(kept)
    if found is None:
        found = _bundled(of_lite)
        if kept is not None:
            _keep(kept, found)
    return found


def cache_folder() -> Path | None:
    """Where programs of this user keep what they can make again; None where that is not known."""
    named = os.environ.get("XDG_CACHE_HOME") or (
        os.environ.get("LOCALAPPDATA") if sys.platform == "win32" else None
    )
    try:
        home = Path.home()
    except RuntimeError:
        return Path(named) / "skstretch" if named else None
    usual = home / ("Library/Caches" if sys.platform == "darwin" else ".cache")
    return (Path(named) if named else usual) / "skstretch"


def _bundled(of_lite: str) -> str:
    import vl_convert

    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=of_lite)
    # in a function, so that its thousands of names stay out of the page's
    closed = re.sub(r"<(?=/script|!--)", r"\\x3c", bundle, flags=re.IGNORECASE)
    return "(()=>{" + closed + "\n})();"


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _read(path: Path) -> str | None:
    """The text of a file whose first line is its digest; None where it is missing or another."""
    try:
        digest, _, text = path.read_text("utf-8").partition("\n")
    except (OSError, UnicodeDecodeError):
        return None
    return text if digest == _digest(text) else None


def _keep(path: Path, text: str) -> None:
    """Write it; a folder that cannot be written to is no trouble."""
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with replacing(path) as file:
            file.write(f"{_digest(text)}\n{text}".encode())
