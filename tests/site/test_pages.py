"""The site as files: it builds without the network, and nothing in it leads nowhere."""

import re
from html.parser import HTMLParser
from urllib.parse import unquote, urlsplit

import pytest

from tests.site.build import ROOT, built_site

pytestmark = pytest.mark.slow
# what a page loads at once; a link that a reader may click is another matter
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src"}


class Page(HTMLParser):
    """Names, links and loaded addresses of one page."""

    def __init__(self, path):
        super().__init__()
        self.path, self.names, self.links, self.loaded, self.images = path, set(), [], [], 0
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag, attrs):
        at = dict(attrs)
        self.names.update(filter(None, (at.get("id"), at.get("name") if tag == "a" else None)))
        if tag == "a" and at.get("href"):
            self.links.append(at["href"])
        if tag in LOADED and at.get(LOADED[tag]):
            self.loaded.append(at[LOADED[tag]])
        if tag == "link" and at.get("rel") in ("stylesheet", "preload", "icon"):
            self.loaded.append(at["href"])


@pytest.fixture(scope="module")
def pages():
    site = built_site()
    written = [path for path in sorted(site.rglob("*.html")) if "_static" not in path.parts]
    found = {path: Page(path) for path in written}
    assert len(found) > 60
    return found


def test_links_anchors_and_images_lead_somewhere(pages):
    dead, followed = [], 0
    for path, page in pages.items():
        for link in page.links + page.loaded:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            known = pages[target].names if target in pages else set()
            named = not (parts.fragment and target in pages) or unquote(parts.fragment) in known
            followed += 1
            if not (target.exists() and named):
                dead.append(f"{path.name}: {link}")
    assert followed > 1_000
    assert not dead, sorted(set(dead))[:20]


def test_pages_load_nothing_from_outside(pages):
    loaded = [link for page in pages.values() for link in page.loaded]
    outside = {link for link in loaded if urlsplit(link).netloc}
    assert len(loaded) > 500
    assert not outside


def test_style_sheets_load_nothing_from_outside(pages):
    sheets = sorted((ROOT / "build" / "site").rglob("*.css"))
    assert len(sheets) > 3
    for sheet in sheets:
        text = sheet.read_text("utf-8")
        assert not re.findall(r"(?:url\(|@import )['\"]?https?:", text), sheet.name


def test_mathematics_comes_with_the_pages(pages):
    folder = ROOT / "build" / "site" / "_static" / "mathjax"
    assert (folder / "tex-chtml.js").stat().st_size > 500_000
    assert len(list(folder.rglob("*.woff"))) > 10


def test_names_in_pages_lead_to_the_reference(pages):
    site = ROOT / "build" / "site"
    links = set(pages[site / "guide" / "index.html"].links)
    home = "../api/generated/skstretch."
    for name in ("StretchyRegressorCV", "StretchyClassifierCV", "save"):
        assert f"{home}{name}.html#skstretch.{name}" in links
    method = "skstretch.StretchyRegressorCV.predict_interval"
    assert f"{home}StretchyRegressorCV.html#{method}" in links
