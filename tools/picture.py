"""The picture of the front page and the README, ``docs/images/overview.png``: `make picture`.

Generated spectra go in; an effect for every wavelength and predictions with intervals come out, by
the calls that stand beside it on the front page. Every number in it is computed here.
"""

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import numpy as np
from matplotlib import colormaps, pyplot

from skstretch import StretchyRegressorCV
from skstretch.datasets import make_spectra

TARGET = Path(__file__).parents[1] / "docs" / "images" / "overview.png"
INK, BLUE, WARM, GREY = "#17202b", "#1d5fa6", "#b8431a", "#9aa4af"


def draw_spectra(axes: Any, wavelength: Any, X: Any, y: Any) -> None:
    """What goes in: spectra, coloured by what is to be predicted."""
    for spectrum, shade in zip(X, colormaps["viridis"](y / y.max()), strict=True):
        axes.plot(wavelength, spectrum, color=shade, lw=0.7)
    axes.set(title=f"in: {len(X)} spectra of {X.shape[1]} wavelengths", xlabel="wavelength, nm")
    axes.set_ylabel("transmittance")


def draw_effects(axes: Any, wavelength: Any, model: Any) -> None:
    """What comes out: the effect of one standard deviation of every wavelength."""
    axes.plot(wavelength, model.effect_, color=BLUE, lw=1.2)
    axes.axhline(0, color=INK, lw=0.5)
    axes.set(title="out: the effect of every wavelength", xlabel="wavelength, nm")
    axes.set_ylabel("effect of one standard deviation")


def draw_intervals(axes: Any, model: Any, new: Any, truth: Any) -> None:
    """What comes out: predictions with intervals, counted on new samples."""
    lower, upper = model.predict_interval(new, 0.9)
    inside = (lower <= truth) & (truth <= upper)
    axes.axline((0, 0), slope=1, color=GREY, lw=0.8, ls="--")
    axes.vlines(truth, lower, upper, color=np.where(inside, BLUE, WARM), lw=1.2, alpha=0.6)
    axes.plot(truth, model.predict(new), "o", color=INK, ms=2.5)
    axes.set(title=f"out: 90 % intervals, {inside.sum()} of {inside.size} hold")
    axes.set(xlabel="true concentration, new samples", ylabel="predicted")


def main() -> None:
    spectra, unseen = make_spectra(), make_spectra(60, random_state=1)
    X, y = spectra.data, spectra.target
    wavelength = np.array(spectra.feature_names, dtype=float)
    model = StretchyRegressorCV().fit(X, y)
    pyplot.rcParams.update({"font.size": 9, "axes.titlesize": 10.5, "axes.edgecolor": GREY})
    figure, axes = pyplot.subplots(1, 3, figsize=(11, 3.1), layout="constrained")
    draw_spectra(axes[0], wavelength, X, y)
    draw_effects(axes[1], wavelength, model)
    draw_intervals(axes[2], model, unseen.data, unseen.target)
    for one in axes:
        one.spines[["top", "right"]].set_visible(False)
    figure.savefig(TARGET, dpi=130, metadata={"Software": None})
    print(f"wrote {TARGET}")


if __name__ == "__main__":
    main()
