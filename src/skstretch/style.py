"""One drawing vocabulary: colours, fonts and number formats of plots, report and reproduction.

Plain constants and small functions, without any import beyond the standard library. A colour, a
dash or a way to write a number that two drawings share is defined here and nowhere else.
"""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

# Colours of series, after Okabe and Ito: told apart by colour-blind eyes.
BLACK, BLUE, VERMILION, GREEN = "#000000", "#0072b2", "#d55e00", "#009e73"
PURPLE, ORANGE, SKY = "#cc79a7", "#e69f00", "#56b4e9"
# Beside them: what is only there for comparison, and one more dark colour.
GREY, WINE = "#7f7f7f", "#661100"
STEEL, PALE = "#8a8a8a", "#9ecae1"

# Of the displays: marks, guides and lines in the background, as matplotlib writes greys.
RUST = "#c1440e"
MARK, HINT, GUIDE, FAINT, MESH = "0.35", "0.4", "0.6", "0.85", "0.9"
COLORMAP = "viridis"

# Where colour is lost, dashes and markers still tell series apart.
DASHES = ("-", "--", "-.", ":")
LONG, DOTTED = (0, (5, 2)), (0, (1, 1.3))

# Of the report, on white and on dark paper. `h0` to `h8` shade a surface, `c0` to `c7` are
# curves; `on` is text upon the darkest shades.
LIGHT = {
    "paper": "#ffffff", "card": "#ffffff", "ink": "#17202b", "soft": "#566270", "line": "#e2e6eb",
    "accent": "#1d5fa6", "warm": "#b8431a", "void": "#d9dce0", "dot": "#ffffff",
    "dot-edge": "#17202b", "on": "#ffffff",
    "h0": "#eef3f9", "h1": "#d9e6f2", "h2": "#c0d6ea", "h3": "#a2c3e0", "h4": "#80acd3",
    "h5": "#5e94c5", "h6": "#407bb3", "h7": "#27629c", "h8": "#124880",
    "c0": "#1d5fa6", "c1": "#b8431a", "c2": "#2d7d46", "c3": "#7a4ea3", "c4": "#9a6b00",
    "c5": "#00798c", "c6": "#a8326e", "c7": "#5b6470",
}  # fmt: skip
DARK = {
    "paper": "#12171e", "card": "#12171e", "ink": "#e8ecf1", "soft": "#9ba7b4", "line": "#2a333e",
    "accent": "#6fb0f2", "warm": "#ff9466", "void": "#3a3f46", "dot": "#12171e",
    "dot-edge": "#f4f7fa", "on": "#0d1319",
    "h0": "#18222d", "h1": "#1b2d40", "h2": "#1f3a56", "h3": "#26496d", "h4": "#305b87",
    "h5": "#3f70a3", "h6": "#558abf", "h7": "#78a9da", "h8": "#a9cef5",
    "c0": "#6fb0f2", "c1": "#ff9466", "c2": "#7fcf95", "c3": "#c5a3ea", "c4": "#e3b95c",
    "c5": "#5fc9d8", "c6": "#f08fbd", "c7": "#aeb7c2",
}  # fmt: skip
SHADES, CURVES = 9, 8  # how many `h` and `c` there are

# Fonts: of the report's page, of its code, and sizes in points of figures for print.
FONT = "system-ui, -apple-system, 'Segoe UI', Roboto, 'Helvetica Neue', sans-serif"
MONOSPACE = "ui-monospace, 'SF Mono', Menlo, Consolas, monospace"
SMALL, NORMAL = 8.5, 10.0
DPI = 160

THOUSANDS = ","  # the mark between thousands, in texts, tables and on axes
_RAISED = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


@dataclass(frozen=True)
class Line:
    """How a series looks: told apart by dashes and marker even where the colour is lost."""

    color: str
    dash: Any = "-"
    marker: str = ""

    @property
    def kwargs(self) -> dict[str, Any]:
        """For `Axes.plot` and `Axes.errorbar` of matplotlib."""
        return {
            "color": self.color,
            "linestyle": self.dash,
            "marker": self.marker,
            "markersize": 4.5,
            "linewidth": 1.4,
            "markeredgecolor": self.color,
        }


# Ordered so that their greys differ as well.
LINES = (
    Line(BLACK, "-", "o"),
    Line(BLUE, "-", "s"),
    Line(VERMILION, LONG, "^"),
    Line(GREEN, "-.", "D"),
    Line(PURPLE, DOTTED, "v"),
    Line(ORANGE, (0, (3, 1, 1, 1, 1, 1)), "P"),
    Line(SKY, (0, (7, 1.5)), "X"),
)


def css(colours: dict[str, str]) -> str:
    """Colours as the variables of a style sheet.

    >>> css({"ink": "#17202b", "soft": "#566270"})
    '--ink: #17202b; --soft: #566270;'
    """
    return " ".join(f"--{name}: {colour};" for name, colour in colours.items())


def var(name: str) -> str:
    """A colour of the report by name, which follows the page to dark and to paper.

    >>> var("accent")
    'var(--accent)'
    """
    if name not in LIGHT:
        raise KeyError(f"the report has no colour {name!r}; it has {', '.join(LIGHT)}.")
    return f"var(--{name})"


def minus(text: str) -> str:
    """Hyphens before numbers as true minus signs.

    >>> minus("-0.2")
    '−0.2'
    """
    return text.replace("-", "−")


def thousands(n: Any) -> str:
    """A whole number with a mark between its thousands.

    >>> thousands(1234567)
    '1,234,567'
    """
    return f"{n:{THOUSANDS}.0f}"


def either(words: Iterable[str]) -> str:
    """Words as a list of which one holds.

    >>> either(["5", "10", "30"])
    '5, 10 or 30'
    """
    *first, last = words
    return f"{', '.join(first)} or {last}" if first else last


def number(value: Any, digits: int = 3) -> str:
    """A number with some significant digits, a true minus, and powers of ten for extremes.

    >>> number(0.0012345), number(-2), number(6.02e23), number(float("nan"))
    ('0.00123', '−2.00', '6.02 × 10²³', 'not known')
    """
    x = float(value)
    if math.isnan(x):
        return "not known"
    if math.isinf(x):
        return "∞" if x > 0 else "−∞"
    if x == 0:
        return "0"
    mantissa, _, exponent = f"{x:.{digits - 1}e}".partition("e")
    power = int(exponent)
    if -4 <= power < 6:
        text = f"{float(f'{x:.{digits - 1}e}'):{THOUSANDS}.{max(0, digits - 1 - power)}f}"
    else:
        mantissa = mantissa.rstrip("0").rstrip(".") if "." in mantissa else mantissa
        text = f"{mantissa} × 10{str(power).translate(_RAISED)}"
    return minus(text)


def near_one(value: Any) -> str:
    """A share such as R², with more digits where it is close to one.

    >>> near_one(0.5), near_one(0.9971), near_one(0.99996), near_one(-0.01)
    ('0.500', '0.9971', '> 0.9999', '−0.010')
    """
    x = float(value)
    if math.isnan(x) or x < 0.995:
        return number(x, 3) if math.isnan(x) or abs(x) >= 0.1 else minus(f"{x:.3f}")
    return "> 0.9999" if x > 0.9999 and x < 1 else f"{x:.4f}"


def share(value: Any, digits: int = 1) -> str:
    """A share as per cent, which does not break from its sign.

    >>> share(0.123), share(1, digits=0)
    ('12.3\\xa0%', '100\\xa0%')
    """
    return minus(f"{100 * float(value):.{digits}f}\u00a0%")


def plain(value: Any) -> str:
    """A grid value: as short as it can be said.

    >>> plain(-0.2), plain(1e-7)
    ('−0.2', '1e−07')
    """
    return minus(f"{value:g}")


def count(n: int, noun: str, plural: str | None = None) -> str:
    """A number of things.

    >>> count(3, "candidate"), count(1, "candidate"), count(0, "class", "classes")
    ('3 candidates', '1 candidate', '0 classes')
    """
    return f"{thousands(n)} {noun if n == 1 else plural or noun + 's'}"
