"""Pipelines in files: they come back whole, and hostile ones are refused."""

import copy
import json
import warnings

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.compose import ColumnTransformer, make_column_selector
from sklearn.decomposition import PCA
from sklearn.exceptions import NotFittedError
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import Ridge
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

import skstretch
from skstretch import FirstQuadrant, GaussianBasis, RandomNetwork, SpectralFilter, StabilitySelector
from skstretch.estimators.state import named_model
from skstretch.io import ModelFileError
from tests.io import forged
from tests.io.samples import members, saved_bytes, with_array, with_header
from tests.io.test_hostile import LIMIT, UNIX, measured

RNG = np.random.default_rng(3)
X = RNG.standard_normal((40, 7)) * RNG.uniform(0.5, 20, 7) + RNG.uniform(-3, 3, 7)
Y = np.sin(X[:, 0]) + X[:, 1] + 0.1 * RNG.standard_normal(40)
GAPS = np.where(RNG.uniform(size=X.shape) < 0.1, np.nan, X)
NEW = 1.3 * X - 0.4
NEW_GAPS = np.where(RNG.uniform(size=X.shape) < 0.2, np.nan, NEW)
NAMES = list("abcdefg")

FRAME = pd.DataFrame(X, columns=NAMES)
FRAME["g"] = np.where(FRAME["g"] > 0, "high", "low")
FRAME["f"] = (FRAME["f"] > 0).astype(int)
HOLES = FRAME.mask(RNG.uniform(size=FRAME.shape) < 0.1).astype({"g": object})

MIXED = ColumnTransformer(
    [
        ("numbers", make_pipeline(SimpleImputer(), StandardScaler()), ["c", "a", "b"]),
        (
            "words",
            make_pipeline(
                SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")
            ),
            ["g"],
        ),
        ("none", StandardScaler(), []),
        ("d", "drop", ["d"]),
    ],
    remainder="passthrough",
)

WORDS = ["red", "blue", "Größe", "naïve", "fox", "hound", "sleeps", "the", "42", "l'eau", "x"]
TEXTS = [" ".join(RNG.choice(WORDS, 6)) for _ in range(40)]
NEW_TEXTS = [*(" ".join(RNG.choice(WORDS, 9)) for _ in range(38)), "", "nothing of these"]
LETTERS = FRAME[["a", "b"]].assign(text=TEXTS)
COUNTS = RNG.poisson(0.7, X.shape)

# name -> (steps, data, new data)
STEPS = {
    "nothing": ([], X, NEW),
    "passthrough": (["passthrough", StandardScaler()], X, NEW),
    "mean": ([SimpleImputer()], GAPS, NEW_GAPS),
    "median": ([SimpleImputer(strategy="median")], GAPS, NEW_GAPS),
    "constant": ([SimpleImputer(strategy="constant", fill_value=-1.5)], GAPS, NEW_GAPS),
    "frequent": ([SimpleImputer(strategy="most_frequent")], GAPS.round(), NEW_GAPS),
    "own": ([SimpleImputer(strategy=lambda values: values.max())], GAPS, NEW_GAPS),
    "marked": ([SimpleImputer(add_indicator=True)], GAPS, NEW_GAPS),
    "zero is missing": (
        [SimpleImputer(missing_values=0, add_indicator=True)],
        np.nan_to_num(GAPS),
        np.nan_to_num(NEW_GAPS),
    ),
    "float32": ([SimpleImputer(), StandardScaler()], GAPS.astype("f4"), NEW_GAPS.astype("f4")),
    "standard": ([StandardScaler(with_mean=False)], X, NEW),
    "no scale": ([StandardScaler(with_std=False)], X, NEW),
    "neither": ([StandardScaler(with_mean=False, with_std=False)], X, NEW),
    "robust": ([RobustScaler(quantile_range=(10, 90))], X, NEW),
    "uncentred": ([RobustScaler(with_centering=False)], X, NEW),
    "power": ([PowerTransformer()], X, NEW),
    "box-cox": ([PowerTransformer("box-cox", standardize=False)], abs(X), abs(NEW)),
    "quantile": ([QuantileTransformer(n_quantiles=11)], X, NEW),
    "normal": (
        [QuantileTransformer(n_quantiles=40, output_distribution="normal", random_state=0)],
        X,
        NEW,
    ),
    "variance": ([VarianceThreshold(50.0)], X, NEW),
    "stability": ([StabilitySelector(5.0, n_pairs=4, random_state=0)], X, NEW),
    "polynomial": ([PolynomialFeatures(2, include_bias=False), StandardScaler()], X, NEW),
    "products": ([PolynomialFeatures((1, 3), interaction_only=True)], X, NEW),
    "one hot": ([OneHotEncoder(sparse_output=False)], X.round(-1), X[::-1].round(-1)),
    "drop": ([OneHotEncoder(drop="if_binary", dtype=np.float32)], X > 0, NEW > 0),
    "spectral": (
        [SpectralFilter(snv=True, derivative=1, window=3, polyorder=1, keep=np.arange(7) > 1)],
        X,
        NEW,
    ),
    "quadrant": ([FirstQuadrant(0.3, np.arange(7) / 9)], X, NEW),
    "network": ([RandomNetwork(9, random_state=np.random.RandomState(0))], X, NEW),
    "basis": ([GaussianBasis(6, random_state=1)], X, NEW),
    "texts": ([TfidfVectorizer(sublinear_tf=True)], TEXTS, NEW_TEXTS),
    "counts": (
        [CountVectorizer(ngram_range=(1, 2), stop_words=["the"]), TfidfTransformer(norm="l1")],
        TEXTS,
        NEW_TEXTS,
    ),
    "letters": (
        [TfidfVectorizer(analyzer="char_wb", ngram_range=(2, 4), dtype=np.float32, use_idf=False)],
        TEXTS,
        NEW_TEXTS,
    ),
    "given words": (
        [
            CountVectorizer(
                vocabulary={"red": 1, "Größe": 0, "fox": 2},
                lowercase=False,
                token_pattern=r"\b[^\W\d]+(?:'\w+)?",
                strip_accents=None,
                binary=True,
            )
        ],
        TEXTS,
        NEW_TEXTS,
    ),
    "texts beside numbers": (
        [
            ColumnTransformer(
                [
                    ("words", make_pipeline(CountVectorizer(), TfidfTransformer()), "text"),
                    ("again", CountVectorizer(max_features=3), 2),
                    ("numbers", StandardScaler(), ["a", "b"]),
                ]
            )
        ],
        LETTERS,
        LETTERS.iloc[::-1],
    ),
    "weights of counts": ([TfidfTransformer(sublinear_tf=True)], COUNTS, COUNTS[::-1]),
    "several": (
        [
            SimpleImputer(),
            VarianceThreshold(),
            PowerTransformer(),
            RandomNetwork(5, random_state=0),
        ],
        GAPS,
        NEW_GAPS,
    ),
    "columns": (
        [
            ColumnTransformer(
                [("s", StandardScaler(), slice(0, 3)), ("q", FirstQuadrant(), [5])],
                remainder=RobustScaler(),
                transformer_weights={"q": 2.5},
            )
        ],
        X,
        NEW,
    ),
    "mixed": ([MIXED], FRAME, FRAME.iloc[::-1]),
    "mixed, holes": ([MIXED, SimpleImputer()], HOLES, HOLES.iloc[::-1]),
    "sparse": (
        [ColumnTransformer([("o", OneHotEncoder(handle_unknown="ignore"), NAMES)])],
        FRAME.round(-1),
        FRAME.round(0),
    ),
    "selector": (
        [
            ColumnTransformer(
                [
                    ("n", StandardScaler(), make_column_selector(dtype_include=np.number)),
                    ("w", OneHotEncoder(sparse_output=False), ["g"]),
                ],
                verbose_feature_names_out=False,
            ).set_output(transform="pandas"),
            StandardScaler(),
        ],
        FRAME,
        FRAME.iloc[::2],
    ),
}


def pipe(name, model=None):
    steps, data, new = STEPS[name]
    model = skstretch.StretchyRegressor() if model is None else model
    made = make_pipeline(*copy.deepcopy(steps), model)
    return made.fit(data, Y), new


def round_trip(model, folder, **options):
    path = folder / "model.stretchy"
    skstretch.save(model, path, **options)
    return skstretch.load(path)


@pytest.mark.parametrize("name", STEPS)
def test_predictions_are_bit_for_bit_the_same(name, tmp_path):
    model, new = pipe(name)
    again = round_trip(model, tmp_path)
    assert type(again) is Pipeline
    assert [*again.named_steps] == [*model.named_steps]
    for given in (new, STEPS[name][1]):
        np.testing.assert_array_equal(again.predict(given), model.predict(given))
        if len(model) > 1:
            expected, got = model[:-1].transform(given), again[:-1].transform(given)
            assert type(got) is type(expected)
            if sparse.issparse(expected):
                expected, got = expected.toarray(), got.toarray()
            np.testing.assert_array_equal(np.asarray(got), np.asarray(expected))
    # and once more: nothing is lost by a round trip
    np.testing.assert_array_equal(round_trip(again, tmp_path).predict(new), model.predict(new))


@pytest.mark.parametrize("name", STEPS)
def test_a_loaded_pipeline_fits_again(name, tmp_path):
    """Parameters came back too: all but the callables."""
    model, new = pipe(name)
    again = round_trip(model, tmp_path)
    if name not in ("own", "network"):
        _, data, _ = STEPS[name]
        np.testing.assert_array_equal(again.fit(data, Y).predict(new), model.predict(new))


@pytest.mark.parametrize("name", ["mean", "power", "several", "mixed", "selector", "spectral"])
@pytest.mark.parametrize("container", ["pandas", "polars"])
def test_names_and_set_output(name, container, tmp_path):
    steps, data, new = STEPS[name]
    if name == "spectral":
        steps = [SpectralFilter(snv=True)]
    data = data if hasattr(data, "columns") else pd.DataFrame(data, columns=NAMES)
    new = new if hasattr(new, "columns") else pd.DataFrame(new, columns=NAMES)
    model = make_pipeline(*copy.deepcopy(steps), skstretch.StretchyRegressor())
    if name != "mixed":  # whose sparse encoder gives no frames
        model[:-1].set_output(transform=container)
    again = round_trip(model.fit(data, Y), tmp_path)
    assert again.feature_names_in_.tolist() == NAMES
    assert again[:-1].get_feature_names_out().tolist() == (
        model[:-1].get_feature_names_out().tolist()
    )
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    if name == "mixed":
        return
    expected, got = model[:-1].transform(new), again[:-1].transform(new)
    assert type(got) is type(expected)
    assert list(got.columns) == list(expected.columns)
    np.testing.assert_array_equal(got.to_numpy(), expected.to_numpy())
    again[-2].set_output(transform="default")
    assert isinstance(again[:-1].transform(new), np.ndarray)
    with pytest.raises(ValueError, match=r"feature names should match|columns are missing"):
        again.predict(new.rename(columns={"a": "z"}))


@pytest.mark.parametrize("wide", [False, True])
def test_many_names(wide, tmp_path):
    D = 30_000 if wide else 40
    data = pd.DataFrame(RNG.standard_normal((6, D)), columns=[f"größe {j}" for j in range(D)])
    model = make_pipeline(SimpleImputer(), StandardScaler(), skstretch.StretchyRegressor())
    again = round_trip(model.fit(data, np.arange(6.0)), tmp_path)
    assert again.feature_names_in_.tolist() == list(data.columns)
    np.testing.assert_array_equal(again.predict(data), model.predict(data))


def test_searches_and_classes(tmp_path):
    grid = {"a_grid": (-0.2, 0.0), "k_grid": (1.5, 2.0), "c_grid": (0.1, 1.0, 10.0)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, new = pipe("several", skstretch.StretchyRegressorCV(**grid))
        steps, data, _ = STEPS["mixed"]
        words = make_pipeline(*copy.deepcopy(steps), skstretch.StretchyClassifierCV(**grid))
        words.fit(data, np.where(Y > 0, "ja", "nein"))
    again = round_trip(model, tmp_path, intervals=True)
    np.testing.assert_array_equal(again.predict(new), model.predict(new))
    inner, inner_again = model[:-1].transform(new), again[:-1].transform(new)
    np.testing.assert_array_equal(
        again[-1].predict_interval(inner_again), model[-1].predict_interval(inner)
    )
    again = round_trip(words, tmp_path)
    np.testing.assert_array_equal(again.predict_proba(data), words.predict_proba(data))
    assert again.classes_.tolist() == ["ja", "nein"]


def test_files_without_steps_are_as_they_were(tmp_path):
    model, _ = pipe("nothing")
    plain = json.loads(members(saved_bytes(model[-1], tmp_path))["header.json"])
    assert "pipeline" not in plain


def test_refused_steps(tmp_path):
    path = tmp_path / "model.stretchy"
    model = Pipeline([("squeeze", PCA(2)), ("model", skstretch.StretchyRegressor())]).fit(X, Y)
    with pytest.raises(TypeError, match=r"the step 'squeeze' is a PCA, .* SimpleImputer, Standard"):
        skstretch.save(model, path)
    inside = ColumnTransformer([("p", PCA(2), [0, 1, 2])], remainder="passthrough")
    with pytest.raises(TypeError, match="the step 'p' is a PCA, which a model file cannot hold"):
        skstretch.save(make_pipeline(inside, skstretch.StretchyRegressor()).fit(X, Y), path)
    with pytest.raises(TypeError, match=r"a Ridge cannot be saved: .*or a scikit-learn Pipeline"):
        skstretch.save(make_pipeline(StandardScaler(), Ridge()).fit(X, Y), path)
    with pytest.raises(NotFittedError):
        skstretch.save(make_pipeline(StandardScaler(), skstretch.StretchyRegressor()), path)
    few = make_pipeline(OneHotEncoder(min_frequency=2), skstretch.StretchyRegressor())
    with pytest.raises(ValueError, match=r"the step 'onehotencoder', a OneHotEncoder, .*min_freq"):
        skstretch.save(few.fit(X > 0, Y), path)
    named = OneHotEncoder(feature_name_combiner=lambda feature, value: str(value))
    with pytest.raises(ValueError, match="cannot be saved: feature_name_combiner=<function"):
        skstretch.save(make_pipeline(named, skstretch.StretchyRegressor()).fit(X > 0, Y), path)
    parts = [(str(j), StandardScaler(), [j % 7]) for j in range(40)]
    many = make_pipeline(ColumnTransformer(parts), skstretch.StretchyRegressor()).fit(X, Y)
    with pytest.raises(ValueError, match="have 161 arrays, and a model file allows 100"):
        skstretch.save(many, path)
    assert not path.exists()


def with_pipeline(data, change):
    """The file with its pipeline changed by a function of the parsed field."""
    header = json.loads(members(data)["header.json"])
    change(header["pipeline"])
    return with_header(data, pipeline=header["pipeline"])


def places(node, path=()):
    """Every place in nested lists and dicts."""
    yield path
    children = node.items() if isinstance(node, dict) else enumerate(node)
    for key, child in children:
        if isinstance(child, (dict, list)):
            yield from places(child, (*path, key))
        else:
            yield (*path, key)


def put(node, path, value):
    for key in path[:-1]:
        node = node[key]
    node[path[-1]] = value


def step(number, **changes):
    return lambda fields: fields["steps"][number][1].update(changes)


CHANGES = {
    "class": ("mean", step(0, **{"class": "os.system"}), "its step 'os.system' is none of Simple"),
    "other class": ("mean", step(0, **{"class": "StandardScaler"}), "missing|contradict"),
    "wide": ("mean", step(0, width=1 << 40), "claims 1099511627776 columns"),
    "narrow": ("mean", step(0, width=6), "'step_0_statistics' is float64"),
    "negative": ("mean", step(0, width=-1), "claims -1 columns"),
    "parameter": ("mean", step(0, parameters={"evil": 1}), "'evil' is not one of SimpleImputer"),
    "value": ("mean", step(0, parameters={"strategy": "eval"}), "'strategy' parameter"),
    "dtype": ("mean", step(0, fit_dtype="|O"), "fitted on"),
    "names": ("mean", step(0, names=0), "names that are not in the file"),
    "output": ("mean", step(0, output="exec"), "in a form that none has"),
    "step": ("mean", lambda f: f.update(steps=[["a", 3]]), "a step that is none"),
    "no name": (
        "mean",
        lambda f: f.update(steps=[[3, "passthrough"]]),
        "names that no pipeline has",
    ),
    "same name": ("mean", lambda f: f.update(last="simpleimputer"), "names that no pipeline has"),
    "no steps": ("mean", lambda f: f.update(steps=[]), "of no known use"),
    "many names": ("mean", lambda f: f.update(names=1 << 40), "'step_names_0' is missing"),
    "degree": ("polynomial", step(0, parameters={"degree": 10**9}), "have a degree 1000000000"),
    "terms": ("polynomial", step(0, parameters={"degree": 60}), "would take|have a degree"),
    "terms again": ("polynomial", step(0, parameters={"degree": 3}), "has not the columns"),
    "drop": ("drop", step(0, parameters={"drop": ["x"] * 7}), "do not fit together"),
    "no categories": ("one hot", step(0, categories=[["float64", []]] * 7), "without sound cat"),
    "text": ("one hot", step(0, categories=[["float64", ["a"]]] * 7), "text among its numbers"),
    "few": ("one hot", step(0, categories=[["float64", [1.0]]] * 7), "and its model takes"),
    "window": ("spectral", step(0, parameters={"derivative": 1, "window": 9}), "window=9 must be"),
    "units": ("network", step(0, parameters={"n_units": 10**12}), "another number of units"),
    "scale": ("network", step(0, parameters={"n_units": 9, "scale": -1.0}), "scale=-1.0 must be"),
    "bell": ("basis", step(0, bell=-1.0), "centres or a width"),
    "files": ("texts", step(0, parameters={"input": "filename"}), "makes it read files"),
    "code": ("texts", step(0, parameters={"tokenizer": "eval"}), "is code, which no file holds"),
    "analyzer": ("texts", step(0, parameters={"analyzer": "eval"}), "is code, which no file"),
    "runs": (
        "texts",
        step(0, parameters={"ngram_range": {"$tuple": [1, 10**6]}}),
        "must be two whole numbers from 1 to 16",
    ),
    "group": ("texts", step(0, parameters={"token_pattern": "(?:a+)+$"}), "repeats a group"),
    "many parts": ("texts", step(0, parameters={"token_pattern": r"\w*" * 9}), "more than 4 parts"),
    "own group": ("texts", step(0, parameters={"token_pattern": r"(a)\1"}), "its own groups"),
    "no pattern": ("texts", step(0, parameters={"token_pattern": "("}), "is no pattern"),
    "endless": ("texts", step(0, parameters={"token_pattern": "a" * 999}), "at most 200 charact"),
    "stop": ("texts", step(0, parameters={"stop_words": "klingon"}), "'stop_words' parameter"),
    "fixed": ("texts", step(0, fixed="yes"), "no sound field 'fixed'"),
    "columns of texts": ("texts", step(0, width=2), "more columns than the one of texts"),
    "texts in a table": (
        "texts beside numbers",
        lambda f: put(f["steps"][0][1], ("parts", 0, 3), "name"),
        "has not its columns",
    ),
    "a table as texts": (
        "texts beside numbers",
        lambda f: put(f["steps"][0][1], ("parts", 2, 3), "one name"),
        "how its columns are called",
    ),
    "texts behind": (
        "counts",
        lambda f: f.update(steps=[f["steps"][1], ["again", f["steps"][0][1]]]),
        "missing|has not the columns",
    ),
    "parts": ("columns", step(0, parts=[]), "'step_0_columns' is missing"),
    "joining": ("columns", step(0, parameters={"n_jobs": 10**6}), "parameters that none has"),
    "sizes": (
        "columns",
        lambda f: put(f["steps"][0][1], ("parts", 0, 2), 2),
        "which part takes which columns",
    ),
    "labels": (
        "columns",
        lambda f: put(f["steps"][0][1], ("parts", 0, 3), "name"),
        "how its columns are called",
    ),
}


@pytest.mark.parametrize("case", CHANGES)
def test_hostile_headers(case, tmp_path):
    name, change, message = CHANGES[case]
    model, _ = pipe(name)
    path = tmp_path / "hostile.stretchy"
    path.write_bytes(with_pipeline(saved_bytes(model, tmp_path), change))
    with pytest.raises(ModelFileError, match=message):
        skstretch.load(path)


def test_nested_too_deep(tmp_path):
    model, _ = pipe("mean")
    data = saved_bytes(model, tmp_path)
    node = json.loads(members(data)["header.json"])["pipeline"]["steps"][0][1]
    for _ in range(50):
        node = {"class": "Pipeline", "width": 7, "names": None, "output": None} | {
            "steps": [["inner", node]]
        }
    path = tmp_path / "deep.stretchy"
    path.write_bytes(with_pipeline(data, lambda f: f.update(steps=[["a", node]])))
    with pytest.raises(ModelFileError, match="too many in each other"):
        skstretch.load(path)


ARRAYS = {
    "statistics": ("mean", "statistics", np.ones(6), "'step_0_statistics' is float64"),
    "text": ("mean", "statistics", np.array(["x"] * 7), "'step_0_statistics' is <U1"),
    "scale": ("float32", "scale", np.zeros(7), None),
    "nan": ("robust", "center", np.full(7, np.nan), "'step_0_center' has entries"),
    "zero": ("robust", "scale", np.zeros(7), "scale' has entries that are not positive"),
    "references": ("quantile", "references", np.ones(11), "its quantiles do not rise"),
    "quantiles": ("quantile", "quantiles", np.eye(11)[:, :7], "its quantiles do not rise"),
    "indicated": ("marked", "indicated", np.array([0, 99]), "marks columns that it does not"),
    "columns": ("columns", "columns", np.full(7, 7), "takes columns that there are not"),
    "others": ("columns", "columns", np.array([0, 1, 2, 5, 3, 3, 6]), "leaves other columns"),
    "support": ("spectral", "support", np.ones(7, bool), "make 7 columns, and its model takes 5"),
    "words": ("texts", "words", np.full(60, 97, np.uint8), "do not fit together|do not come|end"),
    "ends": ("texts", "ends", np.full(9, 60), None),
    "weights": ("texts", "idf", -np.ones(10), "idf' has entries that are not positive"),
    "few weights": ("texts", "idf", np.ones(8), "'step_0_idf' is float64 of shape"),
    "no weights": ("texts", "idf", np.full(10, np.inf), "'step_0_idf' has entries"),
    "moments": ("quadrant", "scale", -np.ones(7), "scale' has entries that are not positive"),
    "centres": ("basis", "centers", np.ones((0, 7)), "centres or a width"),
}


@pytest.mark.parametrize("case", ARRAYS)
def test_hostile_arrays(case, tmp_path):
    name, array, values, message = ARRAYS[case]
    model, _ = pipe(name)
    data = saved_bytes(model, tmp_path)
    places = json.loads(members(data)["header.json"])["arrays"]
    found = [place for place in places if place.startswith("step_") and place.endswith(array)]
    (place,) = [p for p in found if p.removeprefix("step_")[2:] == array]
    path = tmp_path / "hostile.stretchy"
    path.write_bytes(with_array(data, place, values))
    with pytest.raises(ModelFileError, match=message):
        skstretch.load(path)


def products(size, steps=1, **changes):
    """A small file whose products of two columns claim to be of other columns and degrees."""
    terms = PolynomialFeatures((2, 2), interaction_only=True, include_bias=False)
    model = make_pipeline(terms, skstretch.StretchyRegressor()).fit(X[:, :size], Y)

    def change(fields):
        fields["steps"][0][1].update(changes)
        node = fields["steps"][0][1]
        fields["steps"] = [[f"step {i}", node] for i in range(steps)]

    return model, change


def powers(degree, **parameters):
    return {"degree": {"$tuple": [degree, degree]}, "interaction_only": True, **parameters}


BOMBS = {
    # one product of all columns; scikit-learn makes all the others on the way
    "on the way": (2, {"width": 28, "parameters": powers(28, include_bias=False)}),
    "all but one": (3, {"width": 26, "parameters": powers(26)}),
    "no terms": (2, {"width": 1 << 19, "parameters": {"degree": 0}}),
    # three products of two of three columns, their names twice as long after every step
    "names": (3, {"steps": 50}),
    "exponents": (2, {"width": 20_000, "parameters": {"degree": 1, "include_bias": False}}),
}


@pytest.mark.parametrize("case", BOMBS)
def test_steps_take_no_more_memory_than_the_file(case, tmp_path):
    size, changes = BOMBS[case]
    model, change = products(size, **changes)
    data = with_pipeline(saved_bytes(model, tmp_path), change)
    path = tmp_path / "bomb.stretchy"
    path.write_bytes(data)
    assert len(data) < 100_000
    with pytest.raises(ModelFileError, match=r"would take|claims|names of up to"):
        skstretch.load(path)


@UNIX
def test_memory_of_refused_steps(tmp_path):
    files = []
    for case, (size, changes) in BOMBS.items():
        model, change = products(size, **changes)
        files.append((case, with_pipeline(saved_bytes(model, tmp_path), change)))
    found = measured(files, tmp_path)
    assert all(refused for _, refused, _, _ in found)
    assert found[-1][2] < LIMIT


WIDE = np.random.default_rng(1).standard_normal((4, 5001))


@pytest.mark.parametrize(
    ("steps", "names", "message"),
    [
        ([SpectralFilter(derivative=0, window=5001)], None, "would take 5001 columns"),
        ([PolynomialFeatures(1), VarianceThreshold()], None, "would take 5002 columns"),
        (
            [OneHotEncoder(sparse_output=False)],
            ["n" * 10_000, *map(str, range(5000))],
            "names of up to 10",
        ),
    ],
    ids=["window", "exponents", "names"],
)
def test_steps_that_need_much_more_than_their_file_are_not_written(steps, names, message, tmp_path):
    frame = WIDE if names is None else pd.DataFrame(WIDE.round(), columns=names)
    model = make_pipeline(*steps, skstretch.StretchyRegressor()).fit(frame, np.arange(4.0))
    with pytest.raises(ValueError, match=message):
        skstretch.save(model, tmp_path / "m.stretchy")


def test_sound_polynomials_are_stored(tmp_path):
    """The bound is no bar to what people fit."""
    for terms in (PolynomialFeatures(2), PolynomialFeatures((5, 5), interaction_only=True)):
        model = make_pipeline(terms, VarianceThreshold(), skstretch.StretchyRegressor())
        model.fit(WIDE[:, :20], np.arange(4.0))
        same = round_trip(model, tmp_path)
        assert (same.predict(WIDE[:, :20]) == model.predict(WIDE[:, :20])).all()


@UNIX
@pytest.mark.parametrize(
    "name",
    [
        "spectral",
        *(pytest.param(n, marks=pytest.mark.slow) for n in ("texts", "mixed, holes", "several")),
    ],
)
def test_every_place_of_a_pipeline_forged(name, tmp_path):
    """A few kilobytes take at most 100 MB above the baseline, whatever they claim."""
    model, _ = pipe(name)
    good = saved_bytes(model, tmp_path)
    tree = json.loads(members(good)["header.json"])["pipeline"]
    files = [
        (f"{place}: {kind}", with_pipeline(good, lambda f, p=place, v=value: put(f, p, v)))
        for place in places(tree)
        if place
        for kind, value in forged.BOMBS.items()
    ]
    assert len(files) > 200
    found = measured(files, tmp_path)
    blamed = next((row for row in found if row[2] > LIMIT), None)
    assert blamed is None, blamed
    assert max(row[3] for row in found) < 5.0, max(found, key=lambda row: row[3])
    assert np.mean([refused for _, refused, _, _ in found]) > 0.9


@pytest.mark.parametrize(
    ("vectorizer", "message"),
    [
        (TfidfVectorizer(tokenizer=str.split, token_pattern=None), "tokenizer=<method"),
        (CountVectorizer(token_pattern=r"(?:\w\w)+"), "repeats a group, or more than 4 parts"),
        (CountVectorizer(ngram_range=(1, 30)), r"ngram_range=\(1, 30\) must be two whole numbers"),
    ],
)
def test_texts_that_are_not_stored(vectorizer, message, tmp_path):
    model = make_pipeline(vectorizer, skstretch.StretchyRegressor()).fit(TEXTS, Y)
    with pytest.raises(ValueError, match=rf"Vectorizer, cannot be saved: .*{message}"):
        skstretch.save(model, tmp_path / "m.stretchy")


@pytest.mark.parametrize(
    "pattern",
    [
        r"(?u)\b\w\w+\b",
        r"[a-z]{3,}",
        r"\S+",
        r"(?i)\b[^\W\d_]+(?:['-]\w+)?\b",
        r"[()+*?]{2}",
        r"\)+",
    ],
)
def test_patterns_of_words_that_people_use_are_stored(pattern, tmp_path):
    texts = [f"{text} -- (+) foo(bar)) it's" for text in TEXTS]
    vectorizer = CountVectorizer(token_pattern=pattern)
    model = make_pipeline(vectorizer, skstretch.StretchyRegressor()).fit(texts, Y)
    again = round_trip(model, tmp_path)
    np.testing.assert_array_equal(again.predict(NEW_TEXTS), model.predict(NEW_TEXTS))


def test_features_of_texts_are_called_by_their_words(tmp_path):
    for name, word in (("texts", "größe"), ("counts", "sleeps fox"), ("given words", "Größe")):
        model, _ = pipe(name)
        own = named_model(round_trip(model, tmp_path))
        assert word in own.feature_names_in_
        assert any(word in str(own.summary()) for word in own.feature_names_in_)
    assert not hasattr(model[-1], "feature_names_in_")


def test_the_commands_say_that_they_read_numbers(tmp_path, capsys, monkeypatch):
    from skstretch.cli import main

    (tmp_path / "t.csv").write_text("text,a,b\nred fox,1,2\n")
    for name in ("texts", "texts beside numbers"):
        skstretch.save(pipe(name)[0], tmp_path / "m.stretchy")
        words = ["skstretch", "predict", str(tmp_path / "m.stretchy"), str(tmp_path / "t.csv")]
        monkeypatch.setattr("sys.argv", words)
        with pytest.raises(SystemExit) as end:
            main()
        assert end.value.code == 2
        assert "this model reads texts, and the commands read numbers" in capsys.readouterr().err
