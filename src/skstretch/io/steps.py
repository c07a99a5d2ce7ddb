"""The steps before a model in a file: their parameters, what they learned, and them again.

Every kind of step is a `Kind`: the attributes of a fit that are stored as arrays, and what is
particular to it. A step is read by a fit of an empty one on a tiny array, which lets scikit-learn
check the parameters and set up what is private to its version; then the stored numbers take the
place of what that fit has learned.

A vectorizer of texts is its parameters, its words in the order of their columns, and a weight for
each. What could be dangerous in a file is refused on both ways: functions, names of files in place
of texts, and patterns or runs of words that could take very long on a short text.

Model files and ONNX graphs know the same steps, those of `KINDS`.
"""

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.feature_extraction.text import CountVectorizer, TfidfTransformer, TfidfVectorizer
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from skstretch.core.quadrant import Quadrant
from skstretch.estimators import StabilitySelector
from skstretch.exceptions import ModelFileError
from skstretch.features import FirstQuadrant, GaussianBasis, RandomNetwork, SpectralFilter
from skstretch.io.archive import Rule
from skstretch.io.header import NUMBERS, NotStorableError, Record, decode, encode
from skstretch.io.state import read_moments, write_moments

ANALYZERS = ("word", "char", "char_wb")
# words or characters in a run, above what anyone counts
LONGEST_RUN = 16
# characters of a pattern, and how many of its parts may repeat
LONGEST_PATTERN, MOST_REPEATS = 200, 4
IDF = Rule("words", itemsize=None, finite=True, positive=True)


def write_words(step: Any, file: Record) -> None:
    """Add the words of a CountVectorizer or TfidfVectorizer, and the weights of the latter."""
    if trouble := _trouble(step):
        raise NotStorableError(trouble)
    file.fields["parameters"].pop("vocabulary", None)  # the words say it all, however given
    file.fields["fixed"] = bool(step.fixed_vocabulary_)
    words = sorted(step.vocabulary_, key=step.vocabulary_.__getitem__)
    if not all(isinstance(word, str) for word in words):
        raise NotStorableError("its vocabulary has entries that are no text")
    file.put_text("words", "ends", words)
    if hasattr(step, "_tfidf"):
        write_weights(step._tfidf, file)


def fit_words(step: Any, file: Record) -> None:
    """A fitted vectorizer: scikit-learn checks the parameters, and is given the words."""
    if file.sizes["D"] != 1:
        raise ModelFileError(f"its {type(step).__name__} has more columns than the one of texts.")
    if trouble := _trouble(step):
        raise ModelFileError(f"its {type(step).__name__} is refused: {trouble}.")
    words, fixed = file.take_text("words", "ends"), file.field("fixed", bool)
    step.vocabulary = {word: number for number, word in enumerate(words)}
    if len(step.vocabulary) < len(words):
        raise ModelFileError(f"its {type(step).__name__} has a word twice.")
    step.fit([""])
    step.fixed_vocabulary_ = fixed
    step.vocabulary = step.vocabulary_ if fixed else None
    if hasattr(step, "_tfidf"):
        file.sizes["words"] = len(words)
        read_weights(step._tfidf, file)


def write_weights(step: Any, file: Record) -> None:
    """Add the weights of words that a TfidfTransformer has learned."""
    if step.use_idf:
        file.put("idf", np.asarray(step.idf_))


def read_weights(step: Any, file: Record) -> None:
    """The weights in the place of what another fit has learned; each column is a word."""
    file.sizes.setdefault("words", file.sizes["D"])
    if step.use_idf:
        step.idf_ = file.take("idf", IDF)


def _trouble(step: Any) -> str:
    """Why a vectorizer is not stored; empty where it can be."""
    if step.input != "content":
        return f"input={step.input!r:.40} makes it read files: give it the texts themselves"
    functions = {name: getattr(step, name) for name in ("preprocessor", "tokenizer")}
    if step.analyzer not in ANALYZERS or any(one is not None for one in functions.values()):
        return "a preprocessor, tokenizer or analyzer of your own is code, which no file holds"
    run = step.ngram_range
    whole = type(run) is tuple and len(run) == 2 and all(type(n) is int for n in run)
    if not whole or not 1 <= run[0] <= run[1] <= LONGEST_RUN:
        return f"ngram_range={run!r:.40} must be two whole numbers from 1 to {LONGEST_RUN}"
    return _pattern_trouble(step.token_pattern)


def _pattern_trouble(pattern: Any) -> str:
    """Why a pattern is refused: some would take years to find a word in a short text."""
    about = f"token_pattern={pattern!r:.80}"
    if type(pattern) is not str or len(pattern) > LONGEST_PATTERN:
        return f"{about} must be text of at most {LONGEST_PATTERN} characters"
    try:
        re.compile(pattern)
    except (re.error, OverflowError, RecursionError) as error:
        return f"{about} is no pattern: {error}"
    if re.search(r"\\[1-9]|\(\?P=|\(\?\(", pattern):
        return f"{about} refers to its own groups"
    # letters alone for what is escaped and for sets; then a mark of repetition is one
    bare = re.sub(r"\[\^?\]?[^\]]*\]", "c", re.sub(r"\\.", "c", pattern, flags=re.DOTALL))
    bare = bare.replace("(?", "(")
    if re.search(r"\)[*+{]", bare) or len(re.findall(r"[*+?{]", bare)) > MOST_REPEATS:
        return (
            f"{about} repeats a group, or more than {MOST_REPEATS} parts, which can take very long "
            "on some texts"
        )
    return ""


# polynomials that are stored; the number of their terms is counted at every load
MAX_DEGREE = 64
# columns and rows enough for a fit of any step that learns from one column
TINY = np.array([[1.0], [2.0], [4.0]])

COLUMN = Rule("D", itemsize=None, finite=True)
SCALE = Rule("D", itemsize=None, finite=True, positive=True)
SCALER = {"mean_": COLUMN, "var_": COLUMN, "scale_": SCALE}


def _fit_tiny(step: Any, file: Record) -> None:
    step.fit(TINY)


def _fit_nothing(step: Any, file: Record) -> None:
    """All that was learned is in the file."""


@dataclass(frozen=True)
class Kind:
    """How steps of one class are stored.

    Attributes
    ----------
    cls : type
    learned : dict
        Attributes that are arrays or None, and their rules; D is the number of columns.
    width : callable
        Columns that come out of a fitted step.
    fit : callable
        Makes a fitted step from an empty one, by default on a tiny array of one column.
    write, read : callable or None
        Add to a record what else a fitted step has, and set that after all others, or refuse it.
    unneeded : tuple of str
        Parameters that a fitted step has no use for: where they cannot be stored, the loaded step
        has the default.
    widest : callable or None
        Columns of the widest array that a transform makes on its way, where that is not `width`.
    cells : callable
        Numbers that a fitted step works out of its parameters, and of no array of the file.
    label : callable
        Characters of its longest name of a column that comes out, from that of one that comes in.
    texts : bool
        Whether it takes a list of texts, in a file one column, and no table.
    """

    cls: Any
    learned: dict[str, Rule] = field(default_factory=dict)
    width: Callable[[Any], int] = lambda step: int(step.n_features_in_)
    fit: Callable[[Any, Record], None] = _fit_tiny
    write: Callable[[Any, Record], None] | None = None
    read: Callable[[Any, Record], None] | None = None
    unneeded: tuple[str, ...] = ()
    widest: Callable[[Any], int] | None = None
    cells: Callable[[Any], int] = lambda step: 0
    label: Callable[[Any, int], int] = lambda step, longest: longest
    texts: bool = False


def write_step(kind: Kind, step: Any, file: Record) -> None:
    """Add a fitted step."""
    _write_parameters(kind, step, file)
    _write_learned(step, kind.learned, file)
    if kind.write is not None:
        kind.write(step, file)


def read_step(kind: Kind, file: Record) -> Any:
    """The fitted step again."""
    step = kind.cls(**file.parameters(kind.cls))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of a fit on one column and few rows
        kind.fit(step, file)
    _read_learned(step, kind.learned, file)
    if kind.read is not None:
        kind.read(step, file)
    if not kind.texts:
        step.n_features_in_ = file.sizes["D"]
    return step


def _write_parameters(kind: Kind, step: Any, file: Record) -> None:
    """Parameters that differ from their defaults, which later versions of a class may not have."""
    defaults = kind.cls().get_params(deep=False)
    found = file.fields["parameters"] = {}
    for name, value in step.get_params(deep=False).items():
        if _same(value, defaults[name]):
            continue
        try:
            found[name] = file.put_parameter(name, value)
        except NotStorableError:
            if name not in kind.unneeded:
                raise NotStorableError(f"{name}={value!r:.80} cannot be stored") from None


def _same(value: Any, default: Any) -> bool:
    if value is default:
        return True
    return type(value) is type(default) and isinstance(value, (bool, int, str)) and value == default


def _write_learned(step: Any, learned: dict[str, Rule], file: Record) -> None:
    for name in learned:
        if (values := getattr(step, name)) is not None:
            file.put(name.strip("_"), np.asarray(values))


def _read_learned(step: Any, learned: dict[str, Rule], file: Record) -> None:
    """Stored arrays in the place of what another fit has learned, where it has something."""
    for name, rule in learned.items():
        key = name.strip("_")
        if (getattr(step, name, key) is None) == (key in file):
            raise ModelFileError(
                f"its {type(step).__name__} has parameters that contradict {name}."
            )
        if key not in file:
            continue
        setattr(step, name, file.take(key, rule))


# What is particular to some kinds.


def _write_seen(step: Any, file: Record) -> None:
    file.put("seen", np.asarray(step.n_samples_seen_))


def _read_seen(step: Any, file: Record) -> None:
    seen = file.take("seen", Rule(kinds="iuf"))
    if seen.shape not in ((), (file.sizes["D"],)) or not (seen >= 0).all():
        raise ModelFileError("its StandardScaler has seen a number of rows that none has.")
    step.n_samples_seen_ = seen[()] if seen.ndim == 0 else seen


def _fit_threshold(step: Any, file: Record) -> None:
    # wide enough to pass any threshold
    step.fit(TINY * (1.0 + np.sqrt(step.threshold)))


def _read_quantiles(step: Any, file: Record) -> None:
    references, quantiles = step.references_, step.quantiles_
    rising = (np.diff(references) > 0).all() and (np.diff(quantiles, axis=0) >= 0).all()
    if not references.size or not rising or references[0] < 0 or references[-1] > 1:
        raise ModelFileError("its quantiles do not rise.")
    step.n_quantiles_ = references.size


def _write_power(step: Any, file: Record) -> None:
    if step.standardize:
        _write_learned(step._scaler, SCALER, file)


def _read_power(step: Any, file: Record) -> None:
    if step.standardize:
        _read_learned(step._scaler, SCALER, file)
        step._scaler.n_features_in_ = file.sizes["D"]


def _write_imputer(step: Any, file: Record) -> None:
    values = step.statistics_
    if values.dtype == object:
        file.fields["values"] = [encode(value) for value in values.tolist()]
    else:
        file.put("statistics", values)
    file.fields["fit_dtype"] = step._fit_dtype.name
    if step.indicator_ is not None:
        file.put("indicated", np.asarray(step.indicator_.features_, dtype=np.int64))


def _fit_imputer(step: Any, file: Record) -> None:
    D, name = file.sizes["D"], file.field("fit_dtype", str)
    if name not in (*NUMBERS, "object"):
        raise ModelFileError(f"its SimpleImputer was fitted on {name[:40]!r}.")
    statistics = _statistics(file)
    if step.add_indicator is True:
        indicated = file.take("indicated", Rule("indicated", "i"))
        if not np.isin(indicated, np.arange(D)).all() or np.unique(indicated).size < indicated.size:
            raise ModelFileError("its SimpleImputer marks columns that it does not have.")
        # only a fit on all columns knows which of them are marked
        sample = np.full((2, D), _observed(step.missing_values, name), dtype=name)
        sample[1, indicated] = step.missing_values
    else:
        sample = np.full((2, 1), _observed(step.missing_values, name), dtype=name)
    step.fit(sample)
    step.statistics_ = statistics


def _observed(missing: Any, dtype: str) -> Any:
    """A value that is not missing."""
    candidates: tuple[Any, ...] = ("observed", "seen") if dtype == "object" else (0, 1)
    return candidates[0] if missing != candidates[0] else candidates[1]


def _statistics(file: Record) -> Any:
    if "values" not in file.fields:
        return file.take("statistics", Rule("D", itemsize=None))
    values, D = file.field("values", list), file.sizes["D"]
    if len(values) != D:
        raise ModelFileError(f"its SimpleImputer has {len(values)} values for {D} columns.")
    return _objects(values)


def _objects(values: list[Any]) -> Any:
    """Stored numbers and texts as an array of objects, each as it was."""
    out = np.empty(len(values), dtype=object)
    for i, value in enumerate(map(decode, values)):
        if value is not None and not isinstance(value, (bool, int, float, str, np.generic)):
            raise ModelFileError("one of its steps has values that are neither numbers nor text.")
        out[i] = value
    return out


def _imputer_width(step: Any) -> int:
    kept = step.statistics_.size
    if not step.keep_empty_features:
        kept -= sum(isinstance(v, float) and np.isnan(v) for v in step.statistics_.tolist())
    return int(kept + (0 if step.indicator_ is None else step.indicator_.features_.size))


def _write_encoder(step: Any, file: Record) -> None:
    if step.max_categories is not None or step.min_frequency is not None:
        raise NotStorableError("max_categories and min_frequency cannot be stored")
    listed = file.fields["categories"] = []
    for values in step.categories_:
        dtype = values.dtype.name if values.dtype.name in NUMBERS else "object"
        listed.append([dtype, [encode(value) for value in values.tolist()]])
    # the learned ones say it all, whatever was given
    file.fields["parameters"].pop("categories", None)


def _fit_encoder(step: Any, file: Record) -> None:
    listed, D = file.field("categories", list), file.sizes["D"]
    if len(listed) != D or step.max_categories is not None or step.min_frequency is not None:
        raise ModelFileError(f"its OneHotEncoder has not the categories of {D} columns.")
    categories = [_categories(*pair) for pair in listed]
    step.categories = [values.astype(object) for values in categories]
    step.fit(np.array([values[:1] for values in step.categories], dtype=object).reshape(1, D))
    step.categories_, step.categories = categories, "auto"


def _categories(dtype: Any, values: Any) -> Any:
    if dtype not in (*NUMBERS, "object") or type(values) is not list or not values:
        raise ModelFileError("its OneHotEncoder has a column without sound categories.")
    found = _objects(values)
    if dtype != "object" and any(isinstance(value, str) for value in found):
        raise ModelFileError("its OneHotEncoder has text among its numbers.")
    return found if dtype == "object" else np.array(found.tolist(), dtype=dtype)


def _encoder_width(step: Any) -> int:
    dropped = [] if step.drop_idx_ is None else step.drop_idx_
    return sum(map(len, step.categories_)) - sum(index is not None for index in dropped)


def _encoder_label(step: Any, longest: int) -> int:
    return longest + 1 + max(len(str(value)) for part in step.categories_ for value in part)


def _write_polynomial(step: Any, file: Record) -> None:
    if np.max(step.degree) > MAX_DEGREE:
        raise NotStorableError(f"degree={step.degree} is above {MAX_DEGREE}")


def _fit_polynomial(step: Any, file: Record) -> None:
    degrees = step.degree if isinstance(step.degree, tuple) else (step.degree,)
    if not all(type(n) is int and 0 <= n <= MAX_DEGREE for n in degrees):
        raise ModelFileError(f"its PolynomialFeatures have a degree {str(step.degree)[:40]}.")
    step.fit(np.broadcast_to(0.0, (1, file.sizes["D"])))


def _polynomial_cells(step: Any) -> int:
    """The exponents, from which scikit-learn makes the names."""
    return int(step.n_output_features_) * int(step.n_features_in_)


def _polynomial_label(step: Any, longest: int) -> int:
    return max(1, min(int(np.max(step.degree)), int(step.n_features_in_))) * (longest + 4)


def _fit_filter(step: Any, file: Record) -> None:
    keep, step.keep = step.keep, None  # ranges need the names; the columns are known
    step.fit(np.broadcast_to(0.0, (1, file.sizes["D"])))
    step.keep = keep


def _filter_cells(step: Any) -> int:
    """Weights of the outermost windows."""
    return 0 if step.derivative is None else int(step.window) ** 2


def _read_network(step: Any, file: Record) -> None:
    step._check_scale()
    if step.n_units != step.biases_.size:
        raise ModelFileError("its RandomNetwork has another number of units than it says.")
    step._n_features_out = step.biases_.size


def _write_basis(step: Any, file: Record) -> None:
    file.fields["bell"] = encode(float(step.width_))


def _read_basis(step: Any, file: Record) -> None:
    step.width_, step._n_features_out = file.field("bell", float), len(step.centers_)
    if not len(step.centers_) or not step.width_ > 0:
        raise ModelFileError("its GaussianBasis has centres or a width that none has.")


def _write_first_quadrant(step: Any, file: Record) -> None:
    quadrant = step._quadrant
    file.fields["slope"] = encode(quadrant.a)
    file.put("shift", quadrant.b)
    write_moments(file, quadrant.moments)
    file.put("rest", quadrant.moments.rest)  # the first readers of steps ask for it


def _read_first_quadrant(step: Any, file: Record) -> None:
    a, shift = file.field("slope", float), file.take("shift", Rule("D", finite=True))
    if a == 0:
        raise ModelFileError("its FirstQuadrant has no slope.")
    step._quadrant = Quadrant("exp", read_moments(file), a, shift)
    step.mean_, step.scale_ = step._quadrant.moments.mean, step._quadrant.moments.scale


def _write_stability(step: Any, file: Record) -> None:
    found = step.threshold_, step.expected_false_, float(step.n_per_half_)
    file.fields["settled"] = [encode(value) for value in found]


def _read_stability(step: Any, file: Record) -> None:
    settled = [decode(value) for value in file.field("settled", list)]
    if len(settled) != 3 or not all(type(v) is float and 0 < v < np.inf for v in settled):
        raise ModelFileError("its StabilitySelector has no sound threshold.")
    step.threshold_, step.expected_false_ = settled[:2]
    step.n_per_half_ = int(settled[2])


def _n_features_out(step: Any) -> int:
    return int(step._n_features_out)


def _n_kept(step: Any) -> int:
    return int(step.get_support().sum())


VECTORIZER: dict[str, Any] = {
    "width": lambda step: len(step.vocabulary_),
    "fit": fit_words,
    "write": write_words,
    "unneeded": ("vocabulary",),
    "label": lambda step, longest: max(map(len, step.vocabulary_)),
    "texts": True,
}
KINDS = {
    "SimpleImputer": Kind(
        SimpleImputer,
        width=_imputer_width,
        fit=_fit_imputer,
        write=_write_imputer,
        unneeded=("strategy",),
        label=lambda step, longest: longest + len("missingindicator_"),
    ),
    "StandardScaler": Kind(StandardScaler, SCALER, write=_write_seen, read=_read_seen),
    "RobustScaler": Kind(RobustScaler, {"center_": COLUMN, "scale_": SCALE}),
    "PowerTransformer": Kind(
        PowerTransformer, {"lambdas_": COLUMN}, write=_write_power, read=_read_power
    ),
    "QuantileTransformer": Kind(
        QuantileTransformer,
        {
            "references_": Rule("quantiles", itemsize=None, finite=True),
            "quantiles_": Rule("quantiles D", itemsize=None, finite=True),
        },
        read=_read_quantiles,
        unneeded=("random_state",),
    ),
    "VarianceThreshold": Kind(
        VarianceThreshold, {"variances_": COLUMN}, width=_n_kept, fit=_fit_threshold
    ),
    "StabilitySelector": Kind(
        StabilitySelector,
        {"frequency_": COLUMN},
        width=_n_kept,
        fit=_fit_nothing,
        write=_write_stability,
        read=_read_stability,
        unneeded=("random_state",),
    ),
    "PolynomialFeatures": Kind(
        PolynomialFeatures,
        width=lambda step: int(step.n_output_features_),
        fit=_fit_polynomial,
        write=_write_polynomial,
        widest=lambda step: int(step._n_out_full),
        cells=_polynomial_cells,
        label=_polynomial_label,
    ),
    "OneHotEncoder": Kind(
        OneHotEncoder,
        width=_encoder_width,
        fit=_fit_encoder,
        write=_write_encoder,
        label=_encoder_label,
    ),
    "SpectralFilter": Kind(
        SpectralFilter,
        {"support_": Rule("D", "b")},
        width=lambda step: int(step.support_.sum()),
        fit=_fit_filter,
        cells=_filter_cells,
    ),
    "FirstQuadrant": Kind(
        FirstQuadrant,
        fit=_fit_nothing,
        write=_write_first_quadrant,
        read=_read_first_quadrant,
    ),
    "RandomNetwork": Kind(
        RandomNetwork,
        {
            "biases_": Rule("units", itemsize=None, finite=True),
            "weights_": Rule("D units", itemsize=None, finite=True),
            "mean_": COLUMN,
            "scale_": SCALE,
        },
        width=_n_features_out,
        fit=_fit_nothing,
        read=_read_network,
        unneeded=("random_state",),
    ),
    "GaussianBasis": Kind(
        GaussianBasis,
        {"centers_": Rule("centres D", itemsize=None, finite=True)},
        width=_n_features_out,
        fit=_fit_nothing,
        write=_write_basis,
        read=_read_basis,
        unneeded=("random_state",),
    ),
    "CountVectorizer": Kind(CountVectorizer, **VECTORIZER),
    "TfidfVectorizer": Kind(TfidfVectorizer, **VECTORIZER),
    "TfidfTransformer": Kind(TfidfTransformer, write=write_weights, read=read_weights),
}
# what holds other steps
JOINING = {"ColumnTransformer": ColumnTransformer, "Pipeline": Pipeline}


def step_name(step: Any) -> str | None:
    """The name of a step's class; None where it is not known, or derived from one that is."""
    name = type(step).__name__
    known = KINDS[name].cls if name in KINDS else JOINING.get(name)
    return name if known is type(step) else None


def takes_texts(step: Any) -> bool:
    """Whether a step, or the first one of a pipeline, takes a list of texts."""
    if isinstance(step, Pipeline):
        return bool(step.steps) and takes_texts(step.steps[0][1])
    name = step_name(step)
    return name in KINDS and KINDS[name].texts


def columns_in(step: Any) -> int:
    """Columns that a fitted step takes; texts are one."""
    return 1 if takes_texts(step) else int(step.n_features_in_)
