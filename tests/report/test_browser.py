"""The report in a real browser: nothing goes wrong, nothing is asked for, candidates can be
chosen."""

import shutil

import numpy as np
import pandas as pd
import pytest

from skstretch import StretchyClassifierCV, StretchyRegressorCV
from skstretch.report import write_report
from tests.report.samples import (
    EVIL,
    GRID,
    counts,
    data_of,
    mixed_classes,
    mixture,
    quietly,
    regression,
    spectra,
    survival,
    text_of,
    three_classes,
    three_targets,
    two_classes,
)

ARGUMENTS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
]  # fmt: skip
SAMPLES = [
    regression, spectra, two_classes, three_classes, three_targets, mixture, mixed_classes,
]  # fmt: skip
STEPS = {"ArrowUp": (-1, 0), "ArrowDown": (1, 0), "ArrowLeft": (0, -1), "ArrowRight": (0, 1)}
PHONE = {"viewport": {"width": 360, "height": 740}, "is_mobile": True, "has_touch": True}


@pytest.fixture(scope="module")
def browser():
    path = next(
        filter(None, map(shutil.which, ("chromium", "chromium-browser", "google-chrome"))), None
    )
    if path is None:
        pytest.skip(
            "needs Chromium: apt-get install chromium (Debian), or put chromium or google-chrome "
            "on the PATH"
        )
    from playwright import sync_api

    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=ARGUMENTS)
        yield browser
        browser.close()


class FoldScorer:
    """A page that was opened, and everything that it said and asked for."""

    def __init__(self, browser, path, timed=False, **options):
        self.context = browser.new_context(**options)
        self.page = self.context.new_page()
        if timed:
            self.session = self.context.new_cdp_session(self.page)
            self.session.send("Performance.enable", {"timeDomain": "threadTicks"})
        self.said, self.asked = [], []
        self.page.on("console", lambda message: self.said.append(message.text))
        self.page.on("pageerror", lambda error: self.said.append(str(error)))
        self.page.on("dialog", lambda dialog: self.said.append(f"dialog {dialog.message}"))
        self.page.on("request", lambda request: self.asked.append(request.url))
        self.context.route(lambda url: url != path.as_uri(), lambda route: route.abort())
        self.page.goto(path.as_uri())
        self.page.wait_for_selector("html[data-ready]", timeout=20_000)
        self.first = [path.as_uri()]

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.context.close()
        if error[0] is None:
            assert self.said == []
            assert self.asked == self.first

    def chart(self, name):
        """What a chart draws, in no order: its texts, and the shapes and places of its marks."""
        return self.page.eval_on_selector_all(
            f"#chart-{name} svg :is(text, path, line)",
            """all => all.map(one => [one.textContent, one.getAttribute("d"),
                one.getAttribute("transform")].join("|")).sort()""",
        )

    def panels(self):
        """What the linked panels draw and say."""
        names = [
            name
            for name in ("fit", "roc", "confusion", "top", "profile")
            if self.page.locator(f"#chart-{name}").count()
        ]
        texts = [
            self.page.inner_text(f"#{name}")
            for name in ("live", "candidate-text", "candidate-name")
        ]
        return [*map(self.chart, names), *texts]

    def wait_for(self, candidate):
        self.page.wait_for_selector(f'html[data-candidate="{candidate}"]', timeout=10_000)


@pytest.fixture
def scorer(browser, tmp_path):
    def opened(sample, **options):
        path = tmp_path / "report.html"
        path.write_text(text_of(sample), "utf-8")
        return FoldScorer(browser, path, **options)

    return opened


def other_candidate(page):
    """A linked candidate that is not the chosen one."""
    values = page.eval_on_selector_all("#pick-candidate option", "all => all.map(one => one.value)")
    return values[-1]


@pytest.mark.parametrize(
    ("sample", "scheme"),
    [*((sample, "light") for sample in (*SAMPLES, survival, counts)), (regression, "dark")],
    ids=lambda value: getattr(value, "__name__", value),
)
def test_nothing_goes_wrong(scorer, sample, scheme):
    with scorer(sample, color_scheme=scheme) as opened:
        drawn = opened.page.locator(".chart svg")
        assert drawn.count() == opened.page.locator(".chart").count() > 2
        for i in range(drawn.count()):
            assert "NaN" not in drawn.nth(i).inner_html()
        paper = opened.page.evaluate("getComputedStyle(document.body).backgroundColor")
        assert (paper == "rgb(255, 255, 255)") == (scheme == "light")


def test_charts_follow_the_colour_scheme(scorer):
    with scorer(regression, color_scheme="light") as opened:
        ask = """() => [...document.querySelectorAll("#chart-fit svg [fill], #chart-fit svg text")]
            .map(node => getComputedStyle(node).fill).join()"""
        light = opened.page.evaluate(ask)
        opened.page.emulate_media(color_scheme="dark")
        dark = opened.page.evaluate(ask)
        assert light != dark
        opened.page.emulate_media(media="print")
        assert opened.page.evaluate(ask) == light


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.__name__)
def test_a_click_on_a_candidate_changes_the_panels(scorer, sample):
    with scorer(sample) as opened:
        page = opened.page
        before = opened.panels()
        chosen = page.get_attribute("html", "data-candidate")
        candidate = other_candidate(page)
        boxes = page.locator("#chart-surface svg .mark-rect").first.locator("path")
        order = page.evaluate(
            """() => JSON.parse(document.getElementById("report-data").textContent)
                .candidates.map(one => String(one.index))"""
        )
        boxes.nth(order.index(candidate)).click(force=True)
        opened.wait_for(candidate)
        assert all(old != new for old, new in zip(before, opened.panels(), strict=True))
        assert page.input_value("#pick-candidate") == candidate
        page.click("#back")
        opened.wait_for(chosen)
        assert opened.panels() == before


def test_candidates_can_be_chosen_by_keyboard_alone(scorer):
    with scorer(regression) as opened:
        page = opened.page
        before, chosen = opened.panels(), page.get_attribute("html", "data-candidate")
        for _ in range(20):
            page.keyboard.press("Tab")
            if page.evaluate("document.activeElement.id") == "chart-surface":
                break
        assert page.evaluate("document.activeElement.id") == "chart-surface"
        places = {
            tuple(one["at"]): one["index"] for one in data_of(text_of(regression))["candidates"]
        }
        at = next(place for place, candidate in places.items() if str(candidate) == chosen)
        for key in ("ArrowUp", "ArrowUp", "ArrowLeft", "ArrowRight", "ArrowRight", "ArrowDown"):
            down, right = STEPS[key]
            there = (at[0] + down, at[1] + right)
            at = there if there in places else at  # the edge stops
            page.keyboard.press(key)
            opened.wait_for(places[at])
        page.keyboard.press("Home")
        opened.wait_for(chosen)
        assert opened.panels() == before
        page.focus("#pick-candidate")
        page.keyboard.press("ArrowDown")
        page.wait_for_selector(f"html:not([data-candidate='{chosen}'])", state="attached")
        assert opened.panels() != before
        assert page.get_attribute("#live", "aria-live") == "polite"


def test_table_and_text_alternative_follow_the_candidate(scorer):
    with scorer(spectra) as opened:
        page = opened.page

        def ask():
            page.evaluate("document.querySelectorAll('details').forEach(d => { d.open = true; })")
            labels = [page.get_attribute(f"#chart-{n}", "aria-label") for n in ("fit", "top")]
            return [page.inner_text("#top-table tbody"), *labels]

        before, candidate = ask(), other_candidate(page)
        page.select_option("#pick-candidate", candidate)
        opened.wait_for(candidate)
        assert all(old != new for old, new in zip(before, ask(), strict=True))


@pytest.mark.parametrize("sample", [three_targets, three_classes])
def test_outputs_can_be_chosen(scorer, sample):
    with scorer(sample) as opened:
        chart = opened.page.locator("#chart-top svg")
        before = chart.text_content()
        opened.page.select_option("#pick-output", "2")
        from playwright import sync_api

        sync_api.expect(chart).not_to_have_text(before)


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.__name__)
def test_phone_needs_no_sideways_scrolling(scorer, sample):
    with scorer(sample, **PHONE) as opened:
        page = opened.page
        assert page.evaluate("document.documentElement.scrollWidth") <= 360
        widths = page.eval_on_selector_all(
            ".chart svg", "all => all.map(one => one.getBoundingClientRect().right)"
        )
        assert max(widths) <= 360


def test_paper_has_charts_and_no_controls(scorer):
    with scorer(spectra) as opened:
        page = opened.page
        page.emulate_media(media="print")
        assert not page.is_visible("#pick-candidate")
        assert page.is_visible("#chart-profile svg")
        assert page.pdf(format="A4").startswith(b"%PDF")


def test_names_are_text_on_the_page(scorer):
    with scorer(regression) as opened:
        page = opened.page
        assert EVIL in page.inner_text("h1")
        assert page.locator("main script, main b:not(.legend b), main img").count() == 0
        drawn = page.locator("#chart-top svg text").all_text_contents()
        assert any("alert(1)" in text for text in drawn)
        box = page.locator("#chart-top svg .mark-rect path").first
        box.hover(force=True)
        page.wait_for_selector("#vg-tooltip-element.visible")
        assert page.locator("#vg-tooltip-element :is(script, b, img)").count() == 0


def test_names_that_objects_have_already(browser, tmp_path):
    """Charts keep groups in plain objects, where these names are taken."""
    names = ["constructor", "toString", "__proto__"]
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, 60)
    X = rng.normal(size=(60, 4))
    X[np.arange(60), codes] += 2
    X, y = pd.DataFrame(X, columns=[*names, "hasOwnProperty"]), np.array(names)[codes]
    model = quietly(StretchyClassifierCV(**GRID), X, y)
    path = write_report(model, tmp_path / "report.html", X=X, y=y)
    with FoldScorer(browser, path) as seen:
        assert seen.page.locator("#chart-roc svg .mark-line path").count() >= 3 + 1
        assert seen.page.locator("#chart-confusion svg .mark-rect path").count() == 9
        assert seen.page.locator("#chart-top svg .mark-rect path").count() == 4
        for chart in ("roc", "confusion", "top"):
            texts = {text.partition("|")[0].strip("\u200b") for text in seen.chart(chart)}
            assert set(names) <= texts, chart


def test_zero_is_marked(scorer):
    for sample in (regression, spectra, two_classes):
        with scorer(sample) as seen:
            texts = seen.page.locator("#chart-top .role-axis text").all_text_contents()
            assert "0" in texts, texts


def test_foreign_scripts_are_blocked(scorer):
    with scorer(regression) as opened:
        blocked = opened.page.evaluate(
            """() => new Promise((done) => {
                const tell = (event) => done(event.effectiveDirective);
                document.addEventListener("securitypolicyviolation", tell);
                const script = document.createElement("script");
                script.textContent = "window.evil = 1";
                document.body.append(script);
                setTimeout(() => done("nothing"), 2000);
            })"""
        )
        assert blocked.startswith("script-src")
        assert opened.page.evaluate("window.evil") is None
        opened.said.clear()  # the browser has said that it blocked it


def test_large_report_opens_within_two_seconds(browser, tmp_path):
    """Two seconds of the processor, so that a busy machine does not matter."""
    rng = np.random.default_rng(9)
    X = rng.normal(size=(30, 10_000))
    y = X[:, :5].sum(axis=1)
    model = quietly(StretchyRegressorCV(c_grid=np.logspace(-5, 1, 25)), X, y)
    path = write_report(model, tmp_path / "large.html", X=X, y=y)
    assert len(data_of(path.read_text("utf-8"))["fits"]) > 50
    with FoldScorer(browser, path, timed=True) as opened:
        found = opened.session.send("Performance.getMetrics")["metrics"]
        spent = next(one["value"] for one in found if one["name"] == "TaskDuration")
        assert 0.01 < spent < 2.0


def test_from_the_mixture_to_its_candidates_and_back(scorer):
    model, _, _ = mixture()
    with scorer(mixture) as opened:
        before = opened.panels()
        assert before[-1] == "The average"
        opened.page.focus("#chart-surface")
        opened.page.keyboard.press("ArrowLeft")
        opened.wait_for(model.best_index_)
        assert opened.panels()[-1] == "Picked model"
        assert opened.chart("top") != before[1]
        opened.page.click("#back")
        opened.wait_for(-1)
        assert opened.panels() == before


@pytest.mark.parametrize("width", [320, 390, 1280])
def test_tables_have_words_on_a_line_not_letters(width, scorer):
    """Names of the averaged models wrap between words, at any width."""
    with scorer(mixture, viewport={"width": width, "height": 800}) as opened:
        cells = opened.page.evaluate(
            """() => [...document.querySelectorAll("#averaged-table th, #averaged-table td")].map(
                (cell) => {
                    const range = document.createRange();
                    range.selectNodeContents(cell);
                    const tops = [...range.getClientRects()].map((box) => Math.round(box.top));
                    return [cell.textContent.trim(), new Set(tops).size];
                }
            )"""
        )
        assert len(cells) > 8
        for text, lines in cells:
            words = text.split()
            assert lines <= len(words), (text, lines)
            assert len(text) / lines >= min(len(text), 8), (text, lines)
