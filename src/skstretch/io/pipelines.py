"""Pipelines in a file: the steps before a model as a tree of nodes, checked on both ways.

A node is a step, a `ColumnTransformer` or a `Pipeline` of nodes, or one of the words passthrough
and drop. The arrays of the n-th step, counted as they are met, begin with ``step_n_``.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from skstretch.estimators.steps import last_step
from skstretch.exceptions import ModelFileError
from skstretch.io.archive import MAX_MEMBERS, Arrays, Rule, refusing
from skstretch.io.header import NotStorableError, decode, encode, text_arrays, text_list
from skstretch.io.header import field as header_field
from skstretch.io.steps import KINDS, Fields, Part, put_together, take_apart

PREFIX = "step_"
WORDS = ("passthrough", "drop")
MAX_NESTING = 5
# columns that a step may have without arrays of that size in the file
FREE_WIDTH = 1 << 20
OUTPUTS = ("default", "pandas", "polars")
# parameters of a ColumnTransformer that matter to what comes out of it
JOINING = ("sparse_threshold", "transformer_weights", "verbose_feature_names_out", "verbose")
LIST = f"{', '.join(KINDS)}, ColumnTransformer and Pipeline of these, 'passthrough' and 'drop'"


@dataclass
class Writer:
    """Arrays and lists of names that the nodes refer to by number."""

    arrays: dict[str, Any] = field(default_factory=dict)
    names: list[list[str]] = field(default_factory=list)
    count: int = 0

    def add(self, part: Part) -> Fields:
        """Keep the arrays of a step, in the place that its turn gives it."""
        prefix = f"{PREFIX}{self.count}_"
        self.count += 1
        self.arrays |= {prefix + name: values for name, values in part.arrays.items()}
        return part.fields

    def number_of(self, names: Any) -> int | None:
        """Where a list of names is kept; every list once."""
        if names is None:
            return None
        listed = [str(name) for name in names]
        if listed not in self.names:
            self.names.append(listed)
        return self.names.index(listed)

    def node(self, name: str, step: Any) -> Any:
        """A step as JSON, its arrays kept here."""
        if isinstance(step, str) and step in WORDS:
            return step
        if step is None:
            return "passthrough"
        try:
            fields = self._fields(name, step)
        except NotStorableError as error:
            kind = type(step).__name__
            raise ValueError(f"the step {name!r}, a {kind}, cannot be saved: {error}.") from None
        config = getattr(step, "_sklearn_output_config", {}).get("transform")
        return {
            "class": type(step).__name__,
            "width": int(step.n_features_in_),
            "names": self.number_of(getattr(step, "feature_names_in_", None)),
            "output": config,
            **fields,
        }

    def _fields(self, name: str, step: Any) -> Fields:
        if type(step) is Pipeline:
            return {"steps": [[part, self.node(part, inner)] for part, inner in step.steps]}
        if type(step) is ColumnTransformer:
            return self._columns(step)
        kind = KINDS.get(type(step).__name__)
        if kind is None or type(step) is not kind.cls:
            raise TypeError(
                f"the step {name!r} is a {type(step).__name__}, which a model file cannot hold: "
                f"steps can be {LIST}. Apply it to the data before the pipeline, or keep the whole "
                "with joblib."
            )
        check_is_fitted(step)
        return self.add(take_apart(kind, step))

    def _columns(self, step: Any) -> Fields:
        """A `ColumnTransformer`: its parts, the columns of each, and what joins them."""
        check_is_fitted(step)
        part, places, listed = Part(), step._transformer_to_input_indices, []
        part.fields["parameters"] = _column_parameters(step)
        fitted = {name: (made, columns) for name, made, columns in step.transformers_}
        given = {name: made for name, made, _ in step.transformers} | {"remainder": step.remainder}
        for name, made in given.items():
            indices = np.asarray(places[name], dtype=np.int64)
            word = made if isinstance(made, str) else None
            if not indices.size:
                word = "drop"  # nothing of it takes part
            columns = fitted[name][1] if name in fitted else []
            node = word or self.node(name, fitted[name][0])
            listed.append([name, node, indices.size, _how(columns)])
        part.arrays["columns"] = np.concatenate(
            [np.asarray(places[name], dtype=np.int64) for name in given]
        )
        part.fields |= {"parts": listed, "sparse_output": bool(step.sparse_output_)}
        return self.add(part)


def _column_parameters(step: Any) -> Fields:
    """Parameters of a `ColumnTransformer` that differ from their defaults, as JSON."""
    defaults = ColumnTransformer([]).get_params(deep=False)
    found = {name: getattr(step, name) for name in JOINING}
    return {name: encode(value) for name, value in found.items() if value != defaults[name]}


def _how(columns: Any) -> Any:
    """How columns were given: by name, by number, or as a slice, which numpy lays out otherwise."""
    if isinstance(columns, slice):
        ends = [columns.start, columns.stop, columns.step]
        return ends if all(end is None or isinstance(end, int) for end in ends) else "number"
    several = columns if isinstance(columns, (list, tuple, np.ndarray)) else [columns]
    return "name" if any(isinstance(column, str) for column in several) else "number"


def pipeline_fields(model: Any) -> tuple[Fields, dict[str, Any], list[str]]:
    """Field, arrays and notes of the steps before the last."""
    writer, notes = Writer(), []
    steps = [[name, writer.node(name, step)] for name, step in model.steps[:-1]]
    parameters = model.get_params(deep=False)
    for name in ("memory", "transform_input"):
        if parameters.get(name) is not None:
            notes.append(f"the parameter {name} of the pipeline is not stored")
    fields = {
        "steps": steps,
        "last": model.steps[-1][0],
        "verbose": bool(model.verbose),
        "names": len(writer.names),
    }
    for number, names in enumerate(writer.names):
        text, ends = text_arrays(names)
        writer.arrays |= {f"{PREFIX}names_{number}": text, f"{PREFIX}ends_{number}": ends}
    _check_readable(fields, writer.arrays, last_step(model))
    return fields, writer.arrays, notes


def _check_readable(fields: Fields, arrays: dict[str, Any], model: Any) -> None:
    """Refuse to write what could not be read."""
    if len(arrays) > MAX_MEMBERS // 2:
        raise ValueError(
            f"the steps of this pipeline have {len(arrays)} arrays, and a model file allows "
            f"{MAX_MEMBERS // 2}: use fewer parts in its ColumnTransformer."
        )
    copies = {name: np.array(values) for name, values in arrays.items()}
    try:
        with refusing("its steps do not come back"):
            read_pipeline(fields, copies, model)
    except ModelFileError as error:
        raise ValueError(f"this pipeline cannot be saved: {error}") from error


def split_arrays(raw: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Arrays of the model, and those of the steps before it."""
    own = {name: values for name, values in raw.items() if not name.startswith(PREFIX)}
    return own, {name: values for name, values in raw.items() if name not in own}


def read_pipeline(fields: Fields, raw: dict[str, Any], model: Any) -> Any:
    """The pipeline that ends in this model."""
    stored = sum(values.nbytes for values in raw.values())
    reader = Reader(Arrays(raw), FREE_WIDTH + stored + model.n_features_in_)
    reader.read_names(header_field(fields, "names", int))
    steps = reader.steps(fields, model.n_features_in_)
    reader.arrays.check_all_taken()
    last, verbose = header_field(fields, "last", str), header_field(fields, "verbose", bool)
    names = [name for name, _ in steps]
    _check_names([*names, last])
    return Pipeline([*steps, (last, model)], verbose=verbose)


def _check_names(names: list[str]) -> None:
    if len({*names}) < len(names) or any(not name or "__" in name for name in names):
        raise ModelFileError("its steps have names that no pipeline has.")


class _Stub(TransformerMixin, BaseEstimator):
    """Stands for a step while scikit-learn sets up a `ColumnTransformer` around it."""

    def __init__(self, width: int = 1):
        self.width = width

    def fit(self, X: Any, y: Any = None) -> "_Stub":
        return self

    def transform(self, X: Any) -> Any:
        return np.broadcast_to(0.0, (X.shape[0], self.width))


@dataclass
class Reader:
    """Nodes become steps again; arrays are taken as the writer has put them."""

    arrays: Arrays
    most: int  # columns that any step may have
    names: list[list[str]] = field(default_factory=list)
    count: int = 0

    def read_names(self, number: int) -> None:
        for i in range(number):
            text = self.arrays.take(f"{PREFIX}names_{i}", Rule(kinds="u", itemsize=1, ndim=1))
            ends = self.arrays.take(f"{PREFIX}ends_{i}", Rule(kinds="i", ndim=1))
            self.names.append(text_list(text, ends))

    def own(self) -> "Turn":
        """The arrays of the next step."""
        self.count += 1
        return Turn(self.arrays, f"{PREFIX}{self.count - 1}_")

    def steps(self, fields: Fields, last: int | None, depth: int = 0) -> list[tuple[str, Any]]:
        """Steps of a pipeline, each as wide as the one before it leaves; `last` is what is due."""
        out, due = [], None
        for pair in header_field(fields, "steps", list):
            name, node = _pair(pair)
            step = self.step(node, depth)
            out.append((name, step))
            if step == "passthrough":
                continue
            if due is not None and step.n_features_in_ != due:
                raise ModelFileError(
                    f"its step {name[:40]!r} has not the columns that it is given."
                )
            due = width_of(step)
            if due > self.most:
                raise ModelFileError(f"its step {name[:40]!r} claims to make {due} columns.")
        if last is not None and due not in (None, last):
            raise ModelFileError(f"its steps make {due} columns, and its model takes {last}.")
        return out

    def step(self, node: Any, depth: int) -> Any:
        """A node of a pipeline as a fitted step."""
        if node == "passthrough":
            return node
        if depth > MAX_NESTING or type(node) is not dict:
            raise ModelFileError("its pipeline has a step that is none, or too many in each other.")
        name, D = header_field(node, "class", str), header_field(node, "width", int)
        if not 1 <= D <= self.most:
            raise ModelFileError(f"its step {name[:40]!r} claims {D} columns.")
        if name == "Pipeline":
            return self._inner(node, D, depth)
        if name == "ColumnTransformer":
            step = self._columns(node, D, depth)
        elif name in KINDS:
            step = put_together(KINDS[name], node, self.own(), D)
        else:
            raise ModelFileError(f"its step {name[:80]!r} is none of {LIST}.")
        self._label(step, node, D)
        return step

    def _label(self, step: Any, node: Fields, D: int) -> None:
        """Names of the columns, and what a transform gives."""
        output, names = node.get("output"), self._names(node, D)
        if names is not None:
            step.feature_names_in_ = names
        if output is not None:
            if output not in OUTPUTS:
                raise ModelFileError("its step gives its columns in a form that none has.")
            step.set_output(transform=output)

    def _names(self, node: Fields, D: int) -> Any:
        number = node.get("names")
        if number is None:
            return None
        if type(number) is not int or not 0 <= number < len(self.names):
            raise ModelFileError("its step has names that are not in the file.")
        if len(self.names[number]) != D:
            raise ModelFileError(f"it has {len(self.names[number])} names for {D} columns.")
        return np.array(self.names[number], dtype=object)

    def _inner(self, node: Fields, D: int, depth: int) -> Any:
        steps = self.steps(node, None, depth + 1)
        _check_names([name for name, _ in steps])
        first = next((step for _, step in steps if step != "passthrough"), None)
        if first is None or first.n_features_in_ != D:
            raise ModelFileError("its inner pipeline has not the columns that it is given.")
        return Pipeline(steps)

    def _columns(self, node: Fields, D: int, depth: int) -> Any:
        """A `ColumnTransformer`: set up around stubs, which the steps then replace."""
        listed = header_field(node, "parts", list)
        made = [(*_pair(part[:2]), *part[2:]) for part in listed]
        steps = [self._part(node, depth) for _, node, *_ in made]
        own = self.own()
        indices = own.take("columns", Rule(kinds="i", ndim=1))
        if ((indices < 0) | (indices >= D)).any():
            raise ModelFileError("its ColumnTransformer takes columns that there are not.")
        groups = _groups(indices, [size for *_, size, _ in made])
        names = [name for name, *_ in made]
        if names[-1:] != ["remainder"] or not steps[:-1]:
            raise ModelFileError("its ColumnTransformer has no parts.")
        _check_names(names[:-1])
        labels = self._names(node, D)
        columns = [
            _given(group, how, labels, D) for group, (*_, how) in zip(groups, made, strict=True)
        ]
        for step, group in zip(steps, groups, strict=True):
            if not isinstance(step, str) and step.n_features_in_ != group.size:
                raise ModelFileError("a part of its ColumnTransformer has not its columns.")
        return self._joined(node, D, [*zip(names, steps, groups, columns, strict=True)])

    def _part(self, node: Any, depth: int) -> Any:
        return node if node in ("passthrough", "drop") else self.step(node, depth + 1)

    def _joined(self, node: Fields, D: int, parts: list[tuple[str, Any, Any, Any]]) -> Any:
        made = _joining(node)
        widths = [width_of(step) for _, step, *_ in parts if not isinstance(step, str)]
        if sum(widths) > self.most:
            raise ModelFileError(f"its ColumnTransformer claims to make {sum(widths)} columns.")
        stubs = [(name, _stub(step), group.tolist()) for name, step, group, _ in parts]
        out = ColumnTransformer(stubs[:-1], remainder=stubs[-1][1], **made)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out.fit(np.broadcast_to(0.0, (1, D)))
        left = {name: columns for name, _, columns in out.transformers_}
        if [*left.get("remainder", [])] != stubs[-1][2]:
            raise ModelFileError("its ColumnTransformer leaves other columns than it says.")
        by_name = {name: (step, columns) for name, step, _, columns in parts}
        labels = self._names(node, D)
        out.transformers_ = [
            _restored(entry, labels, *by_name[entry[0]]) for entry in out.transformers_
        ]
        out.transformers = [
            (name, step if isinstance(step, str) else clone(step), columns)
            for name, step, _, columns in parts[:-1]
        ]
        rest = parts[-1][1]
        out.remainder = rest if isinstance(rest, str) else clone(rest)
        out.sparse_output_ = header_field(node, "sparse_output", bool)
        return out


@dataclass(frozen=True)
class Turn(Arrays):
    """The arrays of one step among those of all."""

    whole: Arrays
    prefix: str

    def __contains__(self, name: str) -> bool:
        return self.prefix + name in self.whole

    def take(self, name: str, rule: Rule) -> Any:
        return self.whole.take(self.prefix + name, rule)


def _pair(pair: Any) -> tuple[str, Any]:
    if type(pair) is not list or len(pair) != 2 or type(pair[0]) is not str:
        raise ModelFileError("its pipeline has a step without a name.")
    return pair[0], pair[1]


def _groups(indices: Any, sizes: list[Any]) -> list[Any]:
    if not all(type(size) is int and size >= 0 for size in sizes) or sum(sizes) != indices.size:
        raise ModelFileError("its ColumnTransformer does not say which part takes which columns.")
    return np.split(indices, np.cumsum(sizes)[:-1])


def _given(group: Any, how: Any, labels: Any, D: int) -> Any:
    """Columns as they were given."""
    if how == "number":
        return group.tolist()
    if how == "name" and labels is not None:
        return [str(name) for name in labels[group]]
    ends = type(how) is list and len(how) == 3 and {*map(type, how)} <= {int, type(None)}
    if ends and group.tolist() == [*range(*slice(*how).indices(D))]:
        return slice(*how)
    raise ModelFileError("its ColumnTransformer does not say how its columns are called.")


def _joining(node: Fields) -> Fields:
    """The parameters by which a `ColumnTransformer` joins its parts."""
    found = header_field(node, "parameters", dict)
    if not {*found} <= {*JOINING}:
        raise ModelFileError("its ColumnTransformer has parameters that none has.")
    return {name: decode(data) for name, data in found.items()}


def _stub(step: Any) -> Any:
    return step if isinstance(step, str) else _Stub(width_of(step))


def _restored(
    entry: tuple[str, Any, Any], labels: Any, step: Any, columns: Any
) -> tuple[str, Any, Any]:
    """A fitted part in the place of its stub; words are left to scikit-learn."""
    name, stub, indices = entry
    if not isinstance(step, str):
        return name, step, columns
    if labels is not None and not isinstance(stub, str):
        stub.feature_names_in_ = labels[indices]
    return name, stub, columns


def width_of(step: Any) -> int:
    """Columns that come out of a fitted step."""
    if isinstance(step, Pipeline):
        steps = [inner for _, inner in step.steps if inner != "passthrough"]
        return width_of(steps[-1])
    if isinstance(step, ColumnTransformer):
        slices = step.output_indices_.values()
        return max((part.stop for part in slices if part.stop is not None), default=0)
    find: Callable[[Any], int] = KINDS[type(step).__name__].width
    return find(step)
