"""Charts as Vega-Lite, of named data that the page fills in, and the script that draws them.

User's strings are values of data, titles or orders of a scale; never names of fields and never
expressions. Colours are names of the page's style sheet, so that charts follow it to dark and to
paper.

The script is Vega, Vega-Lite and Vega-Embed as one text. It is bundled from the installed package
in every process that writes a page, and kept nowhere: no other file gets into a page.
"""

import functools
import re
from typing import Any

import altair as alt

from skstretch import style
from skstretch.style import var


@functools.cache
def library() -> str:
    """Vega, Vega-Lite and Vega-Embed, in the version that altair writes for."""
    import vl_convert

    of_lite = "_".join(alt.SCHEMA_VERSION.split(".")[:2])
    bundle = vl_convert.javascript_bundle("window.vegaEmbed = vegaEmbed;", vl_version=of_lite)
    # in a function, so that its thousands of names stay out of the page's
    closed = re.sub(r"<(?=/script|!--)", r"\\x3c", bundle, flags=re.IGNORECASE)
    return "(()=>{" + closed + "\n})();"


INK, SOFT, LINE, PAPER = (var(name) for name in ("ink", "soft", "line", "paper"))
ACCENT, WARM = var("accent"), var("warm")
SHADES = [var("void"), *(var(f"h{i}") for i in range(style.SHADES))]
# names of rows are cut where they would leave too little room for the squares
LABELS = alt.ExprRef("max(160, 0.34 * containerSize()[0])")
CURVES = [var(f"c{i}") for i in range(style.CURVES)]

CONFIG = {
    "aria": False,
    "background": "transparent",
    "font": style.FONT,
    "view": {"stroke": None},
    "axis": {
        "labelColor": SOFT,
        "titleColor": SOFT,
        "titleFontWeight": 500,
        "titlePadding": 8,
        "labelFontSize": 11,
        "titleFontSize": 12,
        "gridColor": LINE,
        "domainColor": LINE,
        "tickColor": LINE,
        "labelLimit": 150,
        "labelFlush": False,
    },
    "axisX": {"labelSeparation": 4},
    "legend": {"labelColor": SOFT, "titleColor": SOFT, "labelLimit": 150},
}


# One mark between thousands and one minus, on axes as in the text.
LOCALE = {
    "decimal": ".",
    "thousands": style.THOUSANDS,
    "grouping": [3],
    "currency": ["", ""],
    "minus": "−",
}


def spec(chart: Any, height: int) -> dict[str, Any]:
    """A chart as a dict, as wide as its place on the page."""
    # a third of the time of a report would go into checks of the schema, which the tests make
    found = chart.properties(width="container", height=height).to_dict(validate=False)
    found.pop("$schema", None)
    found.pop("config", None)
    found["padding"] = {"left": 2, "right": 14, "top": 4, "bottom": 4}
    found["autosize"] = {"type": "fit-x", "contains": "padding", "resize": True}
    return dict(found)


def key(name: str) -> str:
    """A user's string as a value that charts look up.

    Vega keeps groups and domains in plain objects, where ``constructor`` and ``__proto__`` are
    taken; no property begins with a space of no width. The script of the page does the same.
    """
    return f"\u200b{name}"


def named(name: str) -> Any:
    """A chart of data that the page brings."""
    return alt.Chart(alt.NamedData(name=name))


def _dashed(chart: Any) -> Any:
    """The line on which both axes agree."""
    return chart.mark_line(color=SOFT, strokeDash=[4, 3], strokeWidth=1)


def _figures(form: str, *names: str) -> list[Any]:
    """Numbers that are told where a mark is pointed at."""
    return [alt.Tooltip(f"{name}:Q", format=form) for name in names]


def _agreeing(x: str, y: str, ends: list[float]) -> Any:
    """The same between these ends of two axes."""
    return _dashed(alt.Chart(alt.InlineData(values=[{x: end, y: end} for end in ends])))


def _bare(**options: Any) -> Any:
    """An axis of names alone."""
    return alt.Axis(ticks=False, domain=False, **options)


def _shaded(least: int) -> Any:
    """Levels from the least to the darkest shade; -1 is none of them."""
    scale = alt.Scale(domain=[*range(least, style.SHADES)], range=SHADES[least + 1 :])
    return alt.Fill("level:O", scale=scale, legend=None)


def _colour(field: str, domain: list[Any], colours: list[str], legend: Any = None) -> Any:
    """A colour for each value of a field."""
    return alt.Color(field, scale=alt.Scale(domain=domain, range=colours), legend=legend)


def surface_chart(rows: list[str], columns: list[str], title: str) -> dict[str, Any]:
    """Candidates as a heat map: dots within one standard error, frames around chosen and picked."""
    labels = ", ".join(f"'{label}'" for label in columns)
    axis = _bare(
        values=[place + 0.5 for place in range(len(columns))],
        labelExpr=f"[{labels}][floor(datum.value)]",
        grid=False,
        labelAngle=0,
        labelOverlap="greedy",
        labelSeparation=8,
        titleAnchor="end",
    )
    scale = alt.Scale(domain=[0, len(columns)], nice=False)
    y = alt.Y(
        "row:O", sort=rows, title=None, scale=alt.Scale(domain=rows), axis=_bare(labelLimit=LABELS)
    )
    candidates = named("candidates")
    place = {
        "x": alt.X("left:Q", title=title.split("\n"), scale=scale, axis=axis),
        "x2": "right:Q",
        "y": y,
    }
    rect = candidates.mark_rect(stroke=PAPER, strokeWidth=1.5, cursor="pointer")
    dots = candidates.transform_filter("datum.within").mark_circle(
        size=22, color=var("dot"), stroke=var("dot-edge"), strokeWidth=1, opacity=1
    )
    frames = [
        named("chosen").mark_rect(fill=None, stroke=WARM, strokeWidth=3),
        named("picked").mark_rect(fill=None, stroke=INK, strokeWidth=2, strokeDash=[3, 2]),
    ]
    tip = alt.Tooltip("text:N", title="model")
    layers = [
        rect.encode(**place, fill=_shaded(-1), tooltip=tip),
        dots.encode(x="middle:Q", y=y, tooltip=tip),
        *(frame.encode(**place, tooltip=tip) for frame in frames),
    ]
    return spec(alt.layer(*layers), 26 * len(rows))


def density_chart(title: str, wide: bool) -> dict[str, Any]:
    """Error against the number of features; `wide` for a logarithmic axis."""
    kind: Any = {"type": "log"} if wide else {"type": "linear", "zero": False}
    scale = alt.Scale(**kind, nice=False, padding=12)
    asked = alt.Tooltip("density:N", title="asked for")
    base = named("density").encode(
        x=alt.X("features:Q", title="features kept", scale=scale, axis=alt.Axis(grid=False)),
        y=alt.Y("error:Q", title=title, scale=alt.Scale(zero=False, padding=8)),
        tooltip=[asked, "features:Q", alt.Tooltip("written:N", title="error")],
    )
    line = base.mark_line(color=ACCENT, strokeWidth=2)
    points = base.mark_circle(size=70, opacity=1, color=ACCENT)
    chosen = base.transform_filter("datum.chosen").mark_point(size=190, stroke=WARM, strokeWidth=2)
    return spec(alt.layer(line, points, chosen), 240)


def null_chart(title: str) -> dict[str, Any]:
    """Scores with targets in random order as bars; a line for the targets as they are."""
    x = alt.X("from:Q", bin="binned", title=title, scale=alt.Scale(zero=False, padding=8))
    bars = named("null").mark_bar(color=ACCENT, opacity=0.75, binSpacing=1)
    own = named("own").mark_rule(color=WARM, strokeWidth=3)
    tip = [*_figures(".4~g", "from", "to"), alt.Tooltip("n:Q", title="orders")]
    layers = [
        bars.encode(x=x, x2="to:Q", y=alt.Y("n:Q", title="random orders"), tooltip=tip),
        own.encode(x="at:Q", tooltip=alt.Tooltip("at:Q", title="as they are", format=".4~g")),
    ]
    return spec(alt.layer(*layers), 260)


def calibration_chart(said: str, seen: str, ends: float | None = None) -> dict[str, Any]:
    """What was said against what was seen, with 90 % intervals: shares, or numbers up to `ends`."""
    scale = alt.Scale(domain=[0, ends or 1])
    axis, form = (alt.Axis(format="%"), ".1%") if ends is None else (alt.Axis(), ".3~g")
    x = alt.X("said:Q", title=said, scale=scale, axis=axis)
    y = alt.Y("seen:Q", title=seen, scale=scale, axis=axis)
    base = named("calibration")
    tip = [*_figures(form, "said", "seen"), alt.Tooltip("n:Q", title="samples")]
    layers = [
        _agreeing("said", "seen", [0, ends or 1]).encode(x=x, y=y),
        base.mark_line(color=ACCENT, strokeWidth=1.5).encode(x=x, y=y),
        base.mark_rule(color=ACCENT, opacity=0.5, strokeWidth=2).encode(
            x=x, y="low:Q", y2="high:Q"
        ),
        base.mark_circle(color=ACCENT, size=60, opacity=1).encode(x=x, y=y, tooltip=tip),
    ]
    return spec(alt.layer(*layers), 320)


def _labelled(marks: Any, labels: list[str], title: str | None, *tip: Any, **axes: Any) -> Any:
    """Curves, one for each label, in the order of their steps."""
    legend = None if len(labels) < 2 else alt.Legend(title=title, orient="bottom", columns=3)
    colour = _colour("label:N", labels, CURVES[: len(labels)], legend)
    return marks.encode(**axes, order=alt.Order("step:Q"), color=colour, tooltip=[*tip])


def survival_chart(names: list[str]) -> dict[str, Any]:
    """Shares without the event over time, a curve of steps for each group."""
    scale, axis, left = alt.Scale(domain=[0, 1]), alt.Axis(format="%"), "without the event"
    chart = _labelled(
        named("survival").mark_line(interpolate="step-after", strokeWidth=2),
        names,
        None,
        alt.Tooltip("label:N", title="samples of"),
        alt.Tooltip("time:Q", format=".4~g"),
        alt.Tooltip("left:Q", title=left, format=".1%"),
        x=alt.X("time:Q", title="time"),
        y=alt.Y("left:Q", title=left, scale=scale, axis=axis),
    )
    return spec(chart, 320)


def fit_chart(target: str) -> dict[str, Any]:
    """Observed against out-of-fold predicted, with bars."""
    x = alt.X("observed:Q", title=f"observed {target}".strip(), scale=alt.Scale(zero=False))
    y = alt.Y("predicted:Q", title="predicted without the sample", scale=alt.Scale(zero=False))
    points = named("points")
    colour = _colour("state:N", ["inside", "outside", "plain"], [ACCENT, WARM, ACCENT])
    bars = points.transform_filter("isValid(datum.lower)").mark_rule(opacity=0.35, strokeWidth=1.2)
    tip = ["sample:N", "observed:Q", "predicted:Q", "interval:N"]
    layers = [
        _dashed(named("diagonal")).encode(x=x, y=y),
        bars.encode(x=x, y="lower:Q", y2="upper:Q", color=colour),
        points.mark_circle(size=34, opacity=0.85).encode(x=x, y=y, color=colour, tooltip=tip),
    ]
    return spec(alt.layer(*layers), 360)


def profile_chart(names: bool, sparse: bool, grouped: bool) -> dict[str, Any]:
    """Slopes along the features, by `names` or numbers: a line, or needles where few are kept.

    Groups of neighbours show their mean, and their range as a band (as needles where few are kept).
    """
    y = alt.Y("slope:Q", title="change for one unit of the feature")
    base, mean = named("profile"), "mean for one unit" if grouped else "for one unit"
    tip = [
        alt.Tooltip("name:N", title="from feature" if grouped else "feature"),
        alt.Tooltip("slope:Q", title=mean, format=".4~g"),
        *([alt.Tooltip("range:N", title="range")] if grouped else []),
    ]
    points = base.mark_circle(size=30, opacity=0, color=ACCENT).encode(tooltip=tip)
    if not sparse:
        return _along(base, names, y, points, grouped)
    ends = {"y": "low:Q", "y2": "high:Q"} if grouped else {"y": y, "y2": alt.datum(0)}
    x, needles = _places(names), base.mark_rule(color=ACCENT, strokeWidth=1.5)
    return spec(alt.layer(_zero("y"), needles.encode(x=x, **ends), points.encode(x=x, y=y)), 260)


def effects_chart(n_bars: int, along: bool) -> dict[str, Any]:
    """Effects between two standard errors: points beside the names, or a curve in its band."""
    title = "effect of one standard deviation"
    tip = [
        alt.Tooltip("name:N", title="feature"),
        alt.Tooltip("effect:Q", title=title, format=".4~g"),
        *_figures(".4~g", "low", "high"),
    ]
    colour = _colour("sure:N", [True, False], [WARM, "transparent" if along else ACCENT])
    base = named("effects")
    points = base.mark_circle(size=26 if along else 60, opacity=1).encode(color=colour, tooltip=tip)
    if along:
        return _along(base, True, alt.Y("effect:Q", title=title), points, True)
    rows, x = _feature_lines(), alt.X("low:Q", title=title)
    layers = [
        _zero("x"),
        base.mark_rule(strokeWidth=2).encode(x=x, x2="high:Q", y=rows, color=colour),
        points.encode(x="effect:Q", y=rows),
    ]
    return spec(alt.layer(*layers), 24 * n_bars)


def novelty_chart() -> dict[str, Any]:
    """Leverage against distance of samples, the strangest marked."""
    p = alt.Tooltip("p:Q", title="p-value", format=".3~f")
    points = named("novelty").mark_circle(size=40, opacity=0.85)
    chart = points.encode(
        x=alt.X("leverage:Q", title="leverage: far out among the others"),
        y=alt.Y("distance:Q", title="distance: not explained by the others"),
        color=_colour("strange:N", [True, False], [WARM, ACCENT]),
        tooltip=["sample:N", *_figures(".3~g", "leverage", "distance"), p],
    )
    return spec(chart, 320)


def _along(base: Any, names: bool, y: Any, points: Any, banded: bool) -> dict[str, Any]:
    """A curve along the features, perhaps in its band, with points to point at."""
    x, area = _places(names), base.mark_area(color=ACCENT, opacity=0.25)
    layers = [
        _zero("y"),
        *([area.encode(x=x, y="low:Q", y2="high:Q")] if banded else []),
        base.mark_line(color=ACCENT, strokeWidth=1.4).encode(x=x, y=y),
        points.encode(x=x, y=y),
    ]
    return spec(alt.layer(*layers), 260)


def _places(names: bool) -> Any:
    """Places of features on an axis: their names as they are, or their numbers with marks."""
    form = ".6~g" if names else ",.6~g"
    return alt.X(
        "at:Q",
        title="names of the features, read as numbers" if names else "number of the feature",
        scale=alt.Scale(zero=False, nice=False),
        axis=alt.Axis(grid=False, format=form, labelOverlap="greedy", labelSeparation=8),
    )


def _zero(axis: str) -> Any:
    """A line where an axis is zero."""
    line = alt.Chart(alt.InlineData(values=[{"zero": 0}])).mark_rule(color=SOFT, strokeWidth=1)
    return line.encode(**{axis: "zero:Q"})


def _feature_lines() -> Any:
    """A line for each feature, in the order of their places."""
    order = {"field": "place", "op": "min"}
    return alt.Y("key:N", sort=order, title=None, axis=_bare(labelLimit=140))


def top_chart(n_bars: int) -> dict[str, Any]:
    """Effects of one standard deviation of the strongest features."""
    # few enough that no label is left out: zero is always among them
    axis = alt.Axis(tickCount=5, format=",~r", labelOverlap=False)
    slope = alt.Tooltip("slope:Q", title="for one unit", format=".4g")
    return _bars("top", n_bars, "effect of one standard deviation", axis, slope, "effect of 1 sd")


def share_chart(n_bars: int, what: str) -> dict[str, Any]:
    """Contributions of the strongest features to one prediction, or to what it is called."""
    axis = alt.Axis(tickCount=4, format=",~r", labelOverlap="greedy")
    value = alt.Tooltip("written:N", title="value")
    return _bars("shares", n_bars, f"contribution to the {what}", axis, value, "contribution")


def _bars(data: str, n_bars: int, title: str, axis: Any, fact: Any, effect: str) -> dict[str, Any]:
    """A bar for each feature, to the right where it raises; `fact` and `effect` when pointed at."""
    name = alt.Tooltip("name:N", title="feature")
    bars = (
        named(data)
        .mark_bar(height={"band": 0.62})
        .encode(
            y=_feature_lines(),
            x=alt.X("effect:Q", title=title, stack=None, axis=axis),
            color=_colour("sign:N", ["raises", "lowers"], [ACCENT, WARM]),
            tooltip=[name, fact, alt.Tooltip("effect:Q", title=effect, format=".4g")],
        )
    )
    return spec(bars, 24 * n_bars)


def roc_chart(labels: list[str]) -> dict[str, Any]:
    """ROC curves, one for each label."""
    scale = alt.Scale(domain=[0, 1])
    axes = {
        "x": alt.X("x:Q", title="false positives, share", scale=scale),
        "y": alt.Y("y:Q", title="true positives, share", scale=scale),
    }
    tip = alt.Tooltip("label:N", title="class"), alt.Tooltip("area:Q", format=".4f")
    marks, labels = named("curves").mark_line(strokeWidth=2), [key(label) for label in labels]
    curves = _labelled(marks, labels, "class", *tip, **axes)
    return spec(alt.layer(_agreeing("x", "y", [0, 1]).encode(**axes), curves), 320)


def confusion_chart(labels: list[str]) -> dict[str, Any]:
    """Observed and predicted classes."""
    labels = [key(label) for label in labels]
    part = alt.Tooltip("share:Q", format=".1%", title="share of observed")
    top = _bare(labelAngle=0 if len(labels) < 7 else -40, orient="top")
    base = named("confusion").encode(
        x=alt.X("predicted:N", sort=labels, title="predicted", axis=top),
        y=alt.Y("observed:N", sort=labels, title="observed", axis=_bare()),
        tooltip=["observed:N", "predicted:N", "count:Q", part],
    )
    dark = f"datum.level > {style.SHADES // 2}"
    colour = alt.condition(dark, alt.value(var("on")), alt.value(INK))
    rect = base.mark_rect(stroke=PAPER, strokeWidth=2).encode(fill=_shaded(0))
    text = base.mark_text(fontSize=13).encode(text="count:Q", color=colour)
    return spec(alt.layer(rect, text), max(240, 30 * len(labels)))
