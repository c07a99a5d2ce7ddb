"""A short tour: Table 1 of the paper, then the diabetes data. Run by `make tour`.

Prints two tables and draws one figure, out/demo.png. It needs no data beyond scikit-learn's, and
less than a minute.
"""

from pathlib import Path
from time import process_time

import numpy as np
from sklearn.datasets import load_diabetes
from sklearn.linear_model import LassoCV, RidgeCV
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from skstretch import StretchyRegressor

FIGURE = Path(__file__).parents[1] / "out" / "demo.png"

# "Deterministic Stretchy Regression", Table 1, noiseless: the coefficients of x^0 to x^10 for
# every (k, c).
PAPER = {
    (1.8, 1e4): "1.000 0.641 -0.402 -0.340 -0.179 -0.083 -0.036 -0.015 -0.007 -0.003 -0.001",
    (1.2, 1e4): "1.063 0.234 -0.046 -0.002 -0.000 -0.000 -0.000 -0.000 -0.000 -0.000 -0.000",
    (1.8, 1e15): "0.999 0.626 -0.198 -0.826 -0.140 0.219 0.244 0.168 0.095 0.049 0.024",
    (1.2, 1e15): "1.000 0.602 -0.014 -1.457 0.738 0.033 0.001 0.000 0.000 0.000 0.000",
}
TRUTH = [1.0, 0.6, 0.0, -1.5, 0.8]
KS = (1.1, 1.25, 1.5, 1.75, 2.0)
TRIALS = 10


def five_points():
    """Powers 1 to 10 of five points, and the values of a polynomial of degree 4 there."""
    x = np.array([0.1, 0.2, 0.3, 0.4, 0.5])
    return np.vander(x, 11, increasing=True)[:, 1:], np.polyval(TRUTH[::-1], x)


def fitted_coefficients(k, c, solver="auto"):
    """The coefficients of x^0 to x^10; the constant is a column like the rest, as in the paper."""
    P, y = five_points()
    model = StretchyRegressor(k, c, quadrant="identity", fit_intercept="column", solver=solver)
    model.fit(P, y)
    return np.append(model.intercept_, model.alpha_)


def exact_coefficients(k, c):
    """The formula in 60 digits where mpmath is installed, else our accurate solver."""
    try:
        import mpmath as mp
    except ImportError:
        return fitted_coefficients(k, c, solver="qr"), 'solver="qr"'
    with mp.workdps(60):
        P, y = five_points()
        P = mp.matrix(np.column_stack([np.ones(len(y)), P]).tolist())
        r = 1 / (mp.mpf(k) - 1)
        Q = P.apply(lambda value: value**r)
        K = P * Q.T + mp.eye(P.rows) / (mp.mpf(c) * mp.mpf(k))
        alpha = Q.T * mp.lu_solve(K, mp.matrix(y.tolist()))
        return np.array([float(value) for value in alpha]), "60 digits"


def show_table_1():
    """The paper's coefficients beside ours."""
    print("Table 1 of the paper: y = 1 + 0.6 x - 1.5 x^3 + 0.8 x^4 at x = 0.1, ..., 0.5, fitted by")
    print("a polynomial of degree 10. Paper beside ours, no noise.\n")
    exact, source = exact_coefficients(1.2, 1e15)
    paper = {candidate: [float(word) for word in text.split()] for candidate, text in PAPER.items()}
    ours = {candidate: fitted_coefficients(*candidate) for candidate in PAPER}
    heads = [f"k={k:g} c={c:.0e}".replace("e+", "e").replace("e0", "e") for k, c in PAPER]
    print(" " * 12 + "".join(f"{head:>18}" for head in heads))
    print(" " * 12 + f"{'paper':>9}{'ours':>9}" * 4 + f"{'exact':>12}   truth")
    for j in range(11):
        pairs = "".join(
            f"{paper[candidate][j]:9.3f}{ours[candidate][j]:9.3f}" for candidate in PAPER
        )
        truth = TRUTH[j] if j < len(TRUTH) else 0.0
        pairs = pairs.replace("-0.000", " 0.000")
        print(f"  alpha_{j:<4}{pairs}{exact[j]:12.6f}   {truth:g}")
    error = np.linalg.norm(ours[1.2, 1e15] - exact) / np.linalg.norm(exact)
    gap = np.linalg.norm(np.array(paper[1.2, 1e15]) - exact) / np.linalg.norm(exact)
    print(f"\n  Last column against the exact one ({source}): ours is off by {error:.0e}, the")
    print(f"  paper's by {gap:.0e}, more than its three decimals allow: rounding in float64.\n")


def methods():
    """Name -> regressor."""
    ours = {f"StretchyRegressor k={k:g}": StretchyRegressor(k, c=100.0) for k in KS}
    ridge, lasso = RidgeCV(np.logspace(-3, 4, 29)), LassoCV(cv=5)
    return ours | {
        "Ridge": make_pipeline(StandardScaler(), ridge),
        "Lasso": make_pipeline(StandardScaler(), lasso),
    }


def two_fold_errors(model, X, y):
    """Mean squared error of every trial of 2-fold, and the seconds that one fit takes."""
    errors, seconds = [], []
    model.fit(X, y)  # not timed: the first call of anything is slow
    for trial in range(TRIALS):
        parts = []
        for train, test in KFold(2, shuffle=True, random_state=trial).split(X):
            start = process_time()
            model.fit(X[train], y[train])
            seconds.append(process_time() - start)
            parts.append(mean_squared_error(y[test], model.predict(X[test])))
        errors.append(np.mean(parts))
    return np.array(errors), np.mean(seconds)


def show_diabetes():
    """Errors of all methods on the diabetes data; name -> mean and standard deviation."""
    X, y = load_diabetes(return_X_y=True)
    print(
        f"Diabetes data ({X.shape[0]} x {X.shape[1]}), {TRIALS} trials of 2-fold as in the paper."
    )
    print("Ours at c = 100. Ridge and Lasso on standardised columns, their alpha chosen in each")
    print("training half (leave-one-out, 5-fold).\n")
    print(f"  {'':<26}{'MSE':>9}{'std':>8}{'CPU ms a fit':>15}")
    results = {}
    for name, model in methods().items():
        errors, seconds = two_fold_errors(model, X, y)
        results[name] = errors.mean(), errors.std()
        print(f"  {name:<26}{errors.mean():9.1f}{errors.std():8.1f}{1e3 * seconds:15.2f}")
    print(f"  {'variance of y':<26}{y.var():9.1f}\n")
    return results


def draw(results):
    """MSE against k with error bars; Ridge and Lasso as bands. Told apart in grey as well."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(figsize=(6.4, 4.0), layout="constrained")
    handles = []
    for name, style, hatch, grey in [("Ridge", "--", None, "0.8"), ("Lasso", ":", "////", "0.5")]:
        mean, spread = results[name]
        filled = {"facecolor": grey} if hatch is None else {"facecolor": "none", "hatch": hatch}
        band = axes.axhspan(mean - spread, mean + spread, edgecolor=grey, linewidth=0.5, **filled)
        line = axes.axhline(mean, color="black", linestyle=style, linewidth=1.2)
        handles.append((band, line))
    means, spreads = np.array([results[f"StretchyRegressor k={k:g}"] for k in KS]).T
    handles.append(axes.errorbar(KS, means, spreads, color="black", marker="o", capsize=4))
    axes.set_xticks(KS, [f"{k:g}" for k in KS])
    axes.set_xlabel("stretching power k (2 is ridge on the transformed features)")
    axes.set_ylabel("mean squared error")
    axes.set_title(f"Diabetes data, {TRIALS} trials of 2-fold, c = 100")
    axes.legend(handles, ["Ridge", "Lasso", "StretchyRegressor"], title="mean ± std of the trials")
    FIGURE.parent.mkdir(exist_ok=True)
    figure.savefig(FIGURE, dpi=150)
    plt.close(figure)


def main():
    show_table_1()
    draw(show_diabetes())
    print(f"Figure: {FIGURE}")


if __name__ == "__main__":
    main()
