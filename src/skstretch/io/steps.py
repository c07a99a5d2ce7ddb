"""The steps before a model in a file: their parameters, what they learned, and them again.

Every kind of step is a `Kind`: the attributes of a fit that are stored as arrays, and what is
particular to it. A step is put together again by a fit of an empty one on a tiny array, which lets
scikit-learn check the parameters and set up what is private to its version; then the stored numbers
take the place of what that fit has learned.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.preprocessing import (
    OneHotEncoder,
    PolynomialFeatures,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
)

from skstretch.core.moments import Moments
from skstretch.core.quadrant import Quadrant
from skstretch.exceptions import ModelFileError
from skstretch.features import FirstQuadrant, GaussianBasis, RandomNetwork, SpectralFilter
from skstretch.io.archive import Arrays, Rule
from skstretch.io.header import NUMBERS, NotStorableError, decode, encode
from skstretch.io.header import field as header_field

Fields = dict[str, Any]
# polynomials that are stored; the number of their terms is counted at every load
MAX_DEGREE = 64


@dataclass
class Part:
    """Fields and arrays of one step."""

    fields: Fields = field(default_factory=dict)
    arrays: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Kind:
    """How steps of one class are stored.

    Attributes
    ----------
    cls : type
    learned : tuple of str
        Attributes that are arrays with one number for each column, or None.
    width : callable
        Columns that come out of a fitted step.
    apart : callable or None
        Adds to a `Part` what else a fitted step has.
    together : callable or None
        Makes a fitted step from an empty one, fields, arrays and the number of columns; by default
        a fit on a tiny array of one column.
    unneeded : tuple of str
        Parameters that a fitted step has no use for: where they cannot be stored, the loaded step
        has the default.
    """

    cls: Any
    learned: tuple[str, ...] = ()
    width: Callable[[Any], int] = lambda step: int(step.n_features_in_)
    apart: Callable[[Any, Part], None] | None = None
    together: Callable[[Any, Fields, Arrays, int], None] | None = None
    unneeded: tuple[str, ...] = ()


def take_apart(kind: Kind, step: Any) -> Part:
    """A fitted step in fields and arrays."""
    part = Part()
    part.fields["parameters"] = stored_parameters(kind, step, part)
    for name in kind.learned:
        if (values := getattr(step, name)) is not None:
            part.arrays[name.strip("_")] = np.asarray(values)
    if kind.apart is not None:
        kind.apart(step, part)
    return part


def put_together(kind: Kind, fields: Fields, arrays: Arrays, D: int) -> Any:
    """The fitted step again, on D columns."""
    step = kind.cls(**read_parameters(kind.cls, fields, arrays))
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # of a fit on one column and few rows
        if kind.together is None:
            step.fit(TINY)
        else:
            kind.together(step, fields, arrays, D)
    for name in kind.learned:
        _set_learned(step, name, arrays, D)
    step.n_features_in_ = D
    return step


TINY = np.array([[1.0], [2.0], [4.0]])


def _set_learned(step: Any, name: str, arrays: Arrays, D: int) -> None:
    """A stored array in the place of what the tiny fit has learned, where it has something."""
    key = name.strip("_")
    if (getattr(step, name) is None) == (key in arrays):
        raise ModelFileError(f"its {type(step).__name__} has parameters that contradict {name}.")
    if key not in arrays:
        return
    values = arrays.take(key, Rule((D,), itemsize=None, finite=True))
    if key == "scale" and not (values > 0).all():
        raise ModelFileError(f"its {type(step).__name__} has scales that are not positive.")
    setattr(step, name, values)


def stored_parameters(kind: Kind, step: Any, part: Part) -> Fields:
    """Parameters that differ from their defaults, which later versions of a class may not have."""
    defaults = kind.cls().get_params(deep=False)
    found: Fields = {}
    for name, value in step.get_params(deep=False).items():
        if _same(value, defaults[name]):
            continue
        if isinstance(value, np.ndarray) and value.dtype.name in NUMBERS and value.ndim <= 2:
            part.arrays[f"parameter_{name}"] = value
            found[name] = {"$member": f"parameter_{name}"}
        elif name == "dtype":
            found[name] = np.dtype(value).name
        else:
            try:
                found[name] = encode(value)
            except NotStorableError:
                if name not in kind.unneeded:
                    raise NotStorableError(f"{name}={value!r:.80} cannot be stored") from None
    return found


def _same(value: Any, default: Any) -> bool:
    if value is default:
        return True
    return type(value) is type(default) and isinstance(value, (bool, int, str)) and value == default


def read_parameters(cls: Any, fields: Fields, arrays: Arrays) -> Fields:
    """The parameters of a step; scikit-learn checks them at the fit that follows."""
    known, found = cls().get_params(deep=False), {}
    for name, data in header_field(fields, "parameters", dict).items():
        if name not in known:
            raise ModelFileError(f"its parameter {name[:80]!r} is not one of {cls.__name__}.")
        if isinstance(data, dict) and "$member" in data:
            found[name] = arrays.take(f"parameter_{name}", Rule(kinds="biuf"))
        elif name == "dtype":
            if data not in NUMBERS:
                raise ModelFileError(f"its {cls.__name__} has a dtype {str(data)[:40]!r}.")
            found[name] = np.dtype(data).type
        else:
            found[name] = decode(data)
    return found


# What is particular to some kinds: what else they store, and how they are put together.


def _seen_apart(step: Any, part: Part) -> None:
    part.arrays["seen"] = np.asarray(step.n_samples_seen_)


def _scaler(step: Any, fields: Fields, arrays: Arrays, D: int) -> None:
    step.fit(TINY)
    seen = arrays.take("seen", Rule(kinds="iuf"))
    if seen.shape not in ((), (D,)) or not (seen >= 0).all():
        raise ModelFileError("its StandardScaler has seen a number of rows that none has.")
    step.n_samples_seen_ = seen[()] if seen.ndim == 0 else seen


def _threshold(step: Any, fields: Fields, arrays: Arrays, D: int) -> None:
    # wide enough to pass any threshold
    step.fit(TINY * (1.0 + np.sqrt(step.threshold)))


def _quantiles_apart(step: Any, part: Part) -> None:
    part.arrays["quantiles"], part.arrays["references"] = step.quantiles_, step.references_


def _quantiles(step: Any, fields: Fields, arrays: Arrays, D: int) -> None:
    step.fit(TINY)
    references = arrays.take("references", Rule(itemsize=None, ndim=1, finite=True))
    quantiles = arrays.take("quantiles", Rule((references.size, D), itemsize=None, finite=True))
    rising = (np.diff(references) > 0).all() and (np.diff(quantiles, axis=0) >= 0).all()
    if not references.size or not rising or references[0] < 0 or references[-1] > 1:
        raise ModelFileError("its quantiles do not rise.")
    step.references_, step.quantiles_ = references, quantiles
    step.n_quantiles_ = references.size


def _power_apart(step: Any, part: Part) -> None:
    if step.standardize:
        for name in ("mean", "var", "scale"):
            part.arrays[name] = getattr(step._scaler, f"{name}_")


def _power(step: Any, fields: Fields, arrays: Arrays, D: int) -> None:
    step.fit(TINY)
    if step.standardize:
        for name in ("mean_", "var_", "scale_"):
            _set_learned(step._scaler, name, arrays, D)
        step._scaler.n_features_in_ = D


def _imputer_apart(step: Any, part: Part) -> None:
    values = step.statistics_
    if values.dtype == object:
        part.fields["values"] = [encode(value) for value in values.tolist()]
    else:
        part.arrays["statistics"] = values
    part.fields["fit_dtype"] = step._fit_dtype.name
    if step.indicator_ is not None:
        part.arrays["indicated"] = np.asarray(step.indicator_.features_, dtype=np.int64)


def _imputer(step: Any, fields: Fields, arrays: Arrays, D: int) -> None:
    name = header_field(fields, "fit_dtype", str)
    if name not in (*NUMBERS, "object"):
        raise ModelFileError(f"its SimpleImputer was fitted on {name[:40]!r}.")
    statistics = _statistics(fields, arrays, D)
    if step.add_indicator is True:
        indicated = arrays.take("indicated", Rule(kinds="i", ndim=1))
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


def _statistics(fields: Fields, arrays: Arrays, D: int) -> Any:
    if "values" not in fields:
        return arrays.take("statistics", Rule((D,), itemsize=None))
    values = header_field(fields, "values", list)
    if len(values) != D:
        raise ModelFileError(f"its SimpleImputer has {len(values)} values for {D} columns.")
    return objects([_plain(decode(value)) for value in values])


def objects(values: list[Any]) -> Any:
    """Values as an array of objects, each as it is."""
    out = np.empty(len(values), dtype=object)
    out[:] = values
    return out


def _plain(value: Any) -> Any:
    if value is not None and not isinstance(value, (bool, int, float, str, np.generic)):
        raise ModelFileError("one of its steps has values that are neither numbers nor text.")
    return value


def _imputer_width(step: Any) -> int:
    kept = step.statistics_.size
    if not step.keep_empty_features:
        kept -= sum(isinstance(v, float) and np.isnan(v) for v in step.statistics_.tolist())
    return int(kept + (0 if step.indicator_ is None else step.indicator_.features_.size))


def _encoder_apart(step: Any, part: Part) -> None:
    if step.max_categories is not None or step.min_frequency is not None:
        raise NotStorableError("max_categories and min_frequency cannot be stored")
    part.fields["categories"] = [
        [_category_type(values.dtype), [encode(value) for value in values.tolist()]]
        for values in step.categories_
    ]
    # the learned ones say it all, whatever was given
    part.fields["parameters"].pop("categories", None)


def _category_type(dtype: Any) -> str:
    return dtype.name if dtype.name in NUMBERS else "object"


def _encoder(step: Any, fields: Fields, arrays: Arrays, D: int) -> None:
    listed = header_field(fields, "categories", list)
    if len(listed) != D or step.max_categories is not None or step.min_frequency is not None:
        raise ModelFileError(f"its OneHotEncoder has not the categories of {D} columns.")
    categories = [_categories(*pair) for pair in listed]
    step.categories = [values.astype(object) for values in categories]
    step.fit(objects([values[0] for values in categories]).reshape(1, D))
    step.categories_, step.categories = categories, "auto"


def _categories(dtype: Any, values: Any) -> Any:
    if dtype not in (*NUMBERS, "object") or type(values) is not list or not values:
        raise ModelFileError("its OneHotEncoder has a column without sound categories.")
    found = [_plain(decode(value)) for value in values]
    if dtype == "object":
        return objects(found)
    if any(isinstance(value, str) for value in found):
        raise ModelFileError("its OneHotEncoder has text among its numbers.")
    return np.array(found, dtype=dtype)


def _encoder_width(step: Any) -> int:
    dropped = [] if step.drop_idx_ is None else step.drop_idx_
    return sum(map(len, step.categories_)) - sum(index is not None for index in dropped)


def _polynomial(step: Any, fields: Fields, arrays: Arrays, D: int) -> None:
    degrees = step.degree if isinstance(step.degree, tuple) else (step.degree,)
    if not all(type(n) is int and 0 <= n <= MAX_DEGREE for n in degrees):
        raise ModelFileError(f"its PolynomialFeatures have a degree {str(step.degree)[:40]}.")
    step.fit(np.broadcast_to(0.0, (1, D)))


def _polynomial_apart(step: Any, part: Part) -> None:
    if np.max(step.degree) > MAX_DEGREE:
        raise NotStorableError(f"degree={step.degree} is above {MAX_DEGREE}")


def _filter_apart(step: Any, part: Part) -> None:
    part.arrays["support"] = step.support_


def _filter(step: Any, fields: Fields, arrays: Arrays, D: int) -> None:
    support = arrays.take("support", Rule((D,), kinds="b"))
    keep, step.keep = step.keep, None  # ranges need the names; the columns are known
    step.fit(np.broadcast_to(0.0, (1, D)))
    step.keep, step.support_ = keep, support


def _network_apart(step: Any, part: Part) -> None:
    part.arrays["weights"], part.arrays["biases"] = step.weights_, step.biases_


def _network(step: Any, fields: Fields, arrays: Arrays, D: int) -> None:
    biases = arrays.take("biases", Rule(itemsize=None, ndim=1, finite=True))
    weights = arrays.take("weights", Rule((D, biases.size), itemsize=None, finite=True))
    if step.n_units != biases.size:
        raise ModelFileError("its RandomNetwork has another number of units than it says.")
    step._check_scale()
    step.weights_, step.biases_, step._n_features_out = weights, biases, biases.size
    step.mean_ = step.scale_ = biases  # until those of the file take their place


def _basis_apart(step: Any, part: Part) -> None:
    part.arrays["centers"], part.fields["bell"] = step.centers_, encode(float(step.width_))


def _basis(step: Any, fields: Fields, arrays: Arrays, D: int) -> None:
    centers = arrays.take("centers", Rule(itemsize=None, ndim=2, finite=True))
    width = header_field(fields, "bell", float)
    if centers.shape[1] != D or not len(centers) or not width > 0:
        raise ModelFileError("its GaussianBasis has centres or a width that none has.")
    step.centers_, step.width_, step._n_features_out = centers, width, len(centers)


def _quadrant_apart(step: Any, part: Part) -> None:
    quadrant = step._quadrant
    part.fields["slope"], part.arrays["shift"] = encode(quadrant.a), quadrant.b
    for name in Moments.__dataclass_fields__:
        part.arrays[name] = getattr(quadrant.moments, name)


def _quadrant(step: Any, fields: Fields, arrays: Arrays, D: int) -> None:
    a, floats = header_field(fields, "slope", float), Rule((D,), finite=True)
    shift, mask = arrays.take("shift", floats), Rule((D,), kinds="b")
    names = Moments.__dataclass_fields__
    moments = Moments(*(arrays.take(m, mask if m == "constant" else floats) for m in names))
    if a == 0 or not (moments.scale > 0).all() or (moments.low > moments.high).any():
        raise ModelFileError("its FirstQuadrant has scales that are not positive, or no range.")
    step._quadrant = Quadrant("exp", moments, a, shift)
    step.mean_, step.scale_ = moments.mean, moments.scale


def _n_out(step: Any) -> int:
    return int(step._n_features_out)


KINDS = {
    kind.cls.__name__: kind
    for kind in (
        Kind(
            SimpleImputer,
            width=_imputer_width,
            apart=_imputer_apart,
            together=_imputer,
            unneeded=("strategy",),
        ),
        Kind(StandardScaler, ("mean_", "var_", "scale_"), apart=_seen_apart, together=_scaler),
        Kind(RobustScaler, ("center_", "scale_")),
        Kind(PowerTransformer, ("lambdas_",), apart=_power_apart, together=_power),
        Kind(
            QuantileTransformer,
            apart=_quantiles_apart,
            together=_quantiles,
            unneeded=("random_state",),
        ),
        Kind(
            VarianceThreshold,
            ("variances_",),
            lambda step: int(step.get_support().sum()),
            together=_threshold,
        ),
        Kind(
            PolynomialFeatures,
            width=lambda step: int(step.n_output_features_),
            apart=_polynomial_apart,
            together=_polynomial,
        ),
        Kind(OneHotEncoder, width=_encoder_width, apart=_encoder_apart, together=_encoder),
        Kind(
            SpectralFilter,
            width=lambda step: int(step.support_.sum()),
            apart=_filter_apart,
            together=_filter,
        ),
        Kind(FirstQuadrant, apart=_quadrant_apart, together=_quadrant),
        Kind(
            RandomNetwork,
            ("mean_", "scale_"),
            _n_out,
            _network_apart,
            _network,
            ("random_state",),
        ),
        Kind(GaussianBasis, (), _n_out, _basis_apart, _basis, ("random_state",)),
    )
}
