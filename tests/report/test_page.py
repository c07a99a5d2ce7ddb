"""User's strings stay text, and the page asks for nothing."""

import base64
import hashlib
import json
import re

import altair
import pytest

from skstretch.report.charts import LABELS
from skstretch.report.page import script_json
from tests.report.samples import (
    EVIL,
    NAMES,
    data_of,
    page,
    regression,
    spectra,
    text_of,
    three_classes,
    three_targets,
    two_classes,
    visible,
)  # fmt: skip

SAMPLES = [regression, spectra, two_classes, three_classes, three_targets]


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.__name__)
def test_page_asks_for_nothing(sample):
    text = text_of(sample)
    tags = re.findall(r"<[a-zA-Z][^>]*>", visible(text))
    assert not [tag for tag in tags if re.search(r"\b(src|href|action|srcset|data)=", tag)]
    assert not re.search(r"https?:|//\w+\.\w|url\(|@import", visible(text))
    assert "http" not in json.dumps(data_of(text))
    style = re.search(r"<style>(.*?)</style>", text, re.DOTALL)[1]
    assert "url(" not in style
    assert "@import" not in style


def test_policy_allows_the_own_scripts_alone():
    text = text_of(regression)
    policy = re.search(r'Content-Security-Policy" content="([^"]*)"', text)[1].replace("&#39;", "'")
    assert policy.startswith("default-src 'none'; base-uri 'none'; form-action 'none'; script-src")
    assert "unsafe" not in policy
    scripts = re.findall(r"<script>(.*?)</script>", text, re.DOTALL)
    style = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    assert len(scripts) == 2
    assert len(style) == 1
    hashes = [
        base64.b64encode(hashlib.sha256(part.encode()).digest()).decode()
        for part in scripts + style
    ]
    assert re.findall(r"'sha256-([^']*)'", policy) == hashes
    assert not re.search(r"\son\w+=|javascript:", visible(text))


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.__name__)
def test_user_strings_are_escaped(sample, tmp_path):
    text = page(sample(), tmp_path, source=f"{EVIL}.csv")
    assert text.count("<script") == 3
    assert text.count("</script>") == 3
    assert "<b>" not in visible(text)
    assert "&lt;script&gt;alert(1)&lt;/script&gt;.csv" in visible(text)


def test_names_arrive_as_they_are():
    text = text_of(regression)
    features = data_of(text)["features"]
    whole = {name for name in NAMES if len(name) <= 60 and name.isprintable()}
    assert whole <= set(features)
    assert max(map(len, features)) == 60
    assert "{{ 7*7 }}" in features
    assert "49" not in features


def test_names_are_never_fields_or_expressions():
    specs = data_of(text_of(regression))["specs"]
    fields = set(re.findall(r'"field": "([^"]*)"', json.dumps(specs)))
    assert fields <= {
        "left", "right", "middle", "row", "level", "text",
        "observed", "predicted", "lower", "upper", "state",
        "sample", "interval", "name", "place", "effect", "sign", "slope", "at", "zero", "said",
        "seen", "low", "high", "n", "features", "error", "density", "written", "key", "range",
        "leverage", "distance", "p", "strange",
    }  # fmt: skip
    expressions = set(re.findall(r'"(?:filter|test|expr)": "([^"]*)"', json.dumps(specs)))
    own = {LABELS.expr, "datum.within", "isValid(datum.lower)", "datum.chosen"}
    assert expressions <= own


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: sample.__name__)
def test_charts_are_valid(sample):
    for spec in data_of(text_of(sample))["specs"].values():
        altair.Chart.from_dict(spec).to_dict(validate=True)


def test_json_cannot_end_its_element():
    nasty = {"</script>": ["<!--", "<SCRIPT>", "]]>", "&lt;", "\u2028", "é", '"', "\\"]}
    text = script_json(nasty)
    assert json.loads(text) == nasty
    assert text.isascii()
    assert not set(text) & set("<>&")
    with pytest.raises(ValueError, match="not JSON compliant"):
        script_json(float("nan"))
