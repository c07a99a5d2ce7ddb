"""
Next quarter's sales of 120 shops
=================================

A table as analysts have it: one row a shop, many columns, some of them words, some fields empty.
The question is what the shops will sell next quarter, how sure that is, and what drives it.

The data are generated, by this recipe: 52 weeks of sales, visitors and advertising for each shop
(156 numbers), the region and the size of its floor. Next quarter's sales follow the last weeks of
sales, the advertising of the last month and the region; the rest is noise. Three fields in a
hundred are empty.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.impute import SimpleImputer
from sklearn.metrics import mean_absolute_error
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import skstretch
from skstretch import StretchyRegressorCV

WEEKS, REGIONS = 52, np.array(["north", "south", "west"])


def shops(count, seed):
    """A table of shops, and what they sold in the quarter after it."""
    rng = np.random.default_rng(seed)
    level = rng.normal(100, 20, (count, 1))
    trend = rng.normal(0, 4, (count, WEEKS)).cumsum(axis=1)
    sales = level + trend + rng.normal(0, 6, (count, WEEKS))
    visitors = 4 * sales + rng.normal(0, 60, (count, WEEKS))
    adverts = rng.gamma(2, 5, (count, WEEKS))
    region = rng.integers(0, 3, count)
    floor = rng.normal(300, 60, count)
    coming = 13 * (level[:, 0] + trend[:, -1]) + 6 * adverts[:, -4:].sum(axis=1) + 80 * region
    table = pd.DataFrame(
        np.hstack([sales, visitors, adverts]),
        columns=[f"{kind}_{w}" for kind in ("sales", "visitors", "adverts") for w in range(1, 53)],
    )
    table = table.mask(rng.uniform(size=table.shape) < 0.03)
    table["region"], table["floor"] = REGIONS[region], floor
    return table, pd.Series(coming + rng.normal(0, 60, count), name="next quarter")


X, y = shops(120, seed=1)
print(f"{X.shape[0]} shops, {X.shape[1]} columns, {X.isna().sum().sum()} empty fields")

# %%
# Empty fields are filled and words become columns in a pipeline, so that new tables are treated
# in the same way. ``nested_cv=5`` repeats the whole search without each fifth of the shops: the
# first number of the summary is then the one to report.

columns = make_column_transformer(
    (OneHotEncoder(sparse_output=False), ["region"]),
    (SimpleImputer(strategy="median"), make_column_selector(dtype_include=np.number)),
    verbose_feature_names_out=False,
).set_output(transform="pandas")
model = make_pipeline(columns, StretchyRegressorCV(nested_cv=5)).fit(X, y)
print(model[-1].summary())

# %%
# New shops, beside two yardsticks: thirteen times the sales of the last week, which needs no
# model, and gradient boosting, which is often the first choice for tables. It needs many more
# rows than these.

new, truth = shops(400, seed=2)
naive = 13 * new["sales_52"].fillna(new["sales_51"])
words = (
    X.assign(region=X["region"].astype("category")),
    new.assign(region=new["region"].astype("category")),
)
boosted = HistGradientBoostingRegressor(categorical_features="from_dtype").fit(words[0], y)
found = {
    "last week": naive,
    "gradient boosting": boosted.predict(words[1]),
    "skstretch": model.predict(new),
}
for name, predicted in found.items():
    print(f"{name:18} mean absolute error {mean_absolute_error(truth, predicted):6.1f}")

# %%
# How sure? Intervals come from shops that were left out. Of 90 % intervals about nine in ten
# should hold what came.

inner = model[:-1].transform(new)
lower, upper = model[-1].predict_interval(inner, 0.9)
inside = (lower <= truth) & (truth <= upper)
print(f"{inside.mean():.0%} of 400 new shops inside their 90 % interval")
order = np.argsort(found["skstretch"])[::8]
figure, axes = plt.subplots(figsize=(6.6, 3.2), layout="constrained")
axes.vlines(range(len(order)), lower[order], upper[order], color="#9db8d2", lw=4, label="90 %")
axes.plot(truth.to_numpy()[order], "o", color="#b8431a", ms=4, label="what came")
axes.set(xlabel="every eighth new shop, by its prediction", ylabel="sales of the quarter")
axes.legend(frameon=False)

# %%
# What drives it: the effect of one standard deviation of each column, week by week. The last
# weeks of sales and of advertising matter, and the visitors say little that the sales do not.

effect = pd.Series(model[-1].effect_, model[-1].feature_names_in_)
figure, axes = plt.subplots(figsize=(6.6, 3.2), layout="constrained")
for kind, colour in (("sales", "#1f4e79"), ("visitors", "0.6"), ("adverts", "#b8431a")):
    axes.plot(range(1, 53), [effect[f"{kind}_{w}"] for w in range(1, 53)], color=colour, label=kind)
axes.axhline(0, color="0.5", lw=0.8)
axes.set(xlabel="week", ylabel="effect of one deviation")
axes.legend(frameon=False, ncols=3)

# %%
# The table goes back to the spreadsheet, and the model into a file without pickle, for next
# quarter.

folder = Path(tempfile.mkdtemp())
result = pd.DataFrame({"prediction": found["skstretch"], "lower": lower, "upper": upper}).round(1)
result.to_csv(folder / "next_quarter.csv", index_label="shop")
skstretch.save(model, folder / "sales.stretchy")
again = skstretch.load(folder / "sales.stretchy")
print(result.head(3))
print("the same after loading:", bool((again.predict(new) == found["skstretch"]).all()))
