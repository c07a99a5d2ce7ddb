"""The site in a real browser, opened from the disk: no error, no request outside, search works."""

import shutil

import pytest

from tests.site.build import built_site

pytestmark = pytest.mark.slow
ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
PAGES = {
    "front page": "index.html",
    "guide": "guide/which.html",
    "mathematics": "guide/letters.html",
    "class": "api/generated/skstretch.StretchyRegressorCV.html",
    "commands": "api/generated/commands.html",
    "gallery": "gallery/index.html",
    "example": "gallery/1_first/plot_nir_calibration.html",
    "measured": "arena.html",
    "browser": "guide/browser.html",
}


@pytest.fixture(scope="module")
def site():
    return built_site()


@pytest.fixture(scope="module")
def browser():
    path = next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)
    if path is None:
        pytest.skip("needs Chromium: apt-get install chromium (Debian), or put it on the PATH")
    from playwright import sync_api

    with sync_api.sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield found
        found.close()


class FoldScorer:
    """An open page that remembers errors and every request."""

    def __init__(self, browser, site, address, **options):
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        self.page.set_default_timeout(120_000)  # of a busy machine
        self.errors, self.asked, self.home = [], [], site.as_uri()
        self.page.on("console", self._heard)
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("requestfailed", lambda request: self.errors.append(request.url))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.page.goto(f"{self.home}/{address}")
        self.page.evaluate("document.fonts.ready.then(() => true)")
        self.page.wait_for_timeout(500)  # what scripts ask for after the page is there

    def _heard(self, message):
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def __enter__(self):
        return self.page

    def __exit__(self, *error):
        self.context.close()
        if error[0] is None:
            assert self.errors == []
            outside = [u for u in self.asked if not u.startswith((self.home, "data:", "blob:"))]
            assert outside == []


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("width", [1280, 390])
@pytest.mark.parametrize("name", PAGES)
def test_a_page_is_whole(browser, site, name, width, scheme):
    size = {"width": width, "height": 900}
    with FoldScorer(browser, site, PAGES[name], viewport=size, color_scheme=scheme) as page:
        assert page.locator("h1").first.is_visible()
        assert page.evaluate("document.documentElement.dataset.theme") == scheme
        wider = page.evaluate("document.documentElement.scrollWidth - window.innerWidth")
        assert wider <= 0, "the page does not scroll sideways"
        broken = "all => all.filter(i => i.complete && !i.naturalWidth).map(i => i.src)"
        assert page.eval_on_selector_all("img", broken) == []


def test_mathematics_is_drawn(browser, site):
    with FoldScorer(browser, site, "guide/letters.html") as page:
        page.wait_for_selector("mjx-container")
        drawn = page.locator("mjx-container").count()
        assert drawn == page.locator(".math").count() > 8
        assert page.locator("mjx-merror").count() == 0


def test_search_finds_a_method_from_a_file(browser, site):
    with FoldScorer(browser, site, "search.html?q=predict_interval") as page:
        page.wait_for_selector("ul.search li a")
        found = page.eval_on_selector_all("ul.search li a", "all => all.map(one => one.href)")
        assert any("StretchyRegressor" in address for address in found)


def test_search_box_leads_to_the_results(browser, site):
    with FoldScorer(browser, site, "index.html", viewport={"width": 1280, "height": 900}) as page:
        page.keyboard.press("Control+k")
        page.locator("dialog input[type=search]").first.fill("jackknife")
        page.keyboard.press("Enter")
        page.wait_for_url("**/search.html?q=jackknife")
        page.wait_for_selector("ul.search li a")


def test_the_flow_chart_leads_on(browser, site):
    with FoldScorer(browser, site, "guide/which.html") as page:
        page.locator(".flow a.go").first.click()
        page.wait_for_url("**/guide/few.html")
