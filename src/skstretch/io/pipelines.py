"""Pipelines in a file: the steps before a model as a tree of nodes, checked on both ways.

A node is a step, a `ColumnTransformer` or a `Pipeline` of nodes, or one of the words passthrough
and drop. The arrays of the n-th step, counted as they are met, begin with ``step_n_``.
"""

import warnings
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.validation import check_is_fitted

from skstretch.estimators.state import last_step
from skstretch.exceptions import ModelFileError
from skstretch.io.archive import MAX_MEMBERS, Rule, refusing
from skstretch.io.header import NotStorableError, Record, decode, encode
from skstretch.io.steps import (
    KINDS,
    Kind,
    columns_in,
    read_step,
    step_name,
    takes_texts,
    write_step,
)

Fields = dict[str, Any]

PREFIX = "step_"
WORDS = ("passthrough", "drop")
MAX_NESTING = 5  # steps in steps: more than anyone writes by hand
# columns that a step may have, and numbers or characters that it may work out, without arrays of
# that size in the file; beyond that, how many times the size of its arrays
FREE_WIDTH, FREE_CELLS, TIMES = 1 << 12, 1 << 24, 16
SHORT = 24  # characters of the longest name that scikit-learn gives to a column without one
OUTPUTS = ("default", "pandas", "polars")
# parameters of a ColumnTransformer that matter to what comes out of it
COLUMN_PARAMETERS = (
    "sparse_threshold",
    "transformer_weights",
    "verbose_feature_names_out",
    "verbose",
)
LIST = f"{', '.join(KINDS)}, ColumnTransformer and Pipeline of these, 'passthrough' and 'drop'"


@dataclass
class Tree:
    """The arrays of all steps, and lists of names that nodes refer to by number."""

    file: Record
    names: list[list[str]] = field(default_factory=list)
    count: int = 0

    def next_step(self, fields: Fields, D: int) -> Record:
        """A record for the arrays of the next step, counted as they are met."""
        self.count += 1
        return Record(fields, self.file.arrays, f"{PREFIX}{self.count - 1}_", {"D": D})


class Writer(Tree):
    """Steps become nodes."""

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
            "width": columns_in(step),
            "names": self.number_of(getattr(step, "feature_names_in_", None)),
            "output": config,
            **fields,
        }

    def _fields(self, name: str, step: Any) -> Fields:
        known = step_name(step)
        if known is None:
            raise TypeError(
                f"the step {name!r} is a {type(step).__name__}, which a model file cannot hold: "
                f"steps can be {LIST}. Apply it to the data before the pipeline, or keep the whole "
                "with joblib."
            )
        if known == "Pipeline":
            return {"steps": [[part, self.node(part, inner)] for part, inner in step.steps]}
        check_is_fitted(step)
        if known == "ColumnTransformer":
            return self._columns(step)
        own = self.next_step({}, columns_in(step))
        write_step(KINDS[known], step, own)
        return own.fields

    def _columns(self, step: Any) -> Fields:
        """A `ColumnTransformer`: its parts, the columns of each, and what joins them."""
        places, listed = step._transformer_to_input_indices, []
        fitted = {name: (made, columns) for name, made, columns in step.transformers_}
        given = {name: made for name, made, _ in step.transformers} | {"remainder": step.remainder}
        for name, made in given.items():
            word = made if isinstance(made, str) else None
            if not len(places[name]):
                word = "drop"  # nothing of it takes part
            columns = fitted[name][1] if name in fitted else []
            node = word or self.node(name, fitted[name][0])
            texts = word is None and takes_texts(fitted[name][0])
            how = f"one {_how(columns)}" if texts else _how(columns)
            listed.append([name, node, len(places[name]), how])
        own = self.next_step({}, step.n_features_in_)
        numbers = [np.asarray(places[name], dtype=np.int64) for name in given]
        own.put("columns", np.concatenate(numbers))
        default, parameters = ColumnTransformer([]), {}
        for name in COLUMN_PARAMETERS:
            if (value := getattr(step, name)) != getattr(default, name):
                parameters[name] = encode(value)
        sparse = bool(step.sparse_output_)
        return {"parameters": parameters, "parts": listed, "sparse_output": sparse}


def _how(columns: Any) -> Any:
    """How columns were given: by name, by number, or as a slice, which numpy lays out otherwise."""
    if isinstance(columns, slice):
        ends = [columns.start, columns.stop, columns.step]
        return ends if all(end is None or isinstance(end, int) for end in ends) else "number"
    several = columns if isinstance(columns, (list, tuple, np.ndarray)) else [columns]
    return "name" if any(isinstance(column, str) for column in several) else "number"


def write_pipeline(file: Record, model: Any) -> list[str]:
    """Add the steps before the last; notes of what is not stored."""
    writer, notes = Writer(Record()), []
    steps = [[name, writer.node(name, step)] for name, step in model.steps[:-1]]
    parameters = model.get_params(deep=False)
    for name in ("memory", "transform_input"):
        if parameters.get(name) is not None:
            notes.append(f"the parameter {name} of the pipeline is not stored")
    own = writer.file
    own.fields["pipeline"] = {
        "steps": steps,
        "last": model.steps[-1][0],
        "verbose": bool(model.verbose),
        "names": len(writer.names),
    }
    for number, names in enumerate(writer.names):
        own.put_text(f"{PREFIX}names_{number}", f"{PREFIX}ends_{number}", names)
    _check_readable(own, last_step(model))
    file.fields.update(own.fields)
    file.arrays.update(own.arrays)
    return notes


def _check_readable(own: Record, model: Any) -> None:
    """Refuse to write what could not be read."""
    if len(own.arrays) > MAX_MEMBERS // 2:
        raise ValueError(
            f"the steps of this pipeline have {len(own.arrays)} arrays, and a model file allows "
            f"{MAX_MEMBERS // 2}: use fewer parts in its ColumnTransformer."
        )
    copy = Record(own.fields, {name: np.array(values) for name, values in own.arrays.items()})
    try:
        with refusing("its steps do not come back"):
            read_pipeline(copy, model)
            copy.check_all_taken()
    except ModelFileError as error:
        raise ValueError(f"this pipeline cannot be saved: {error}") from error


def read_pipeline(file: Record, model: Any) -> Any:
    """The pipeline that ends in this model."""
    own, D = Record(file.field("pipeline", dict), file.arrays), model.n_features_in_
    stored = [values.nbytes for name, values in own.arrays.items() if name.startswith(PREFIX)]
    # a model has several arrays with a number for each of its columns
    reader = Reader(own, FREE_WIDTH + sum(stored) + np.dtype(float).itemsize * D)
    for i in range(own.field("names", int)):
        reader.names.append(own.take_text(f"{PREFIX}names_{i}", f"{PREFIX}ends_{i}"))
    steps = reader.steps(own, D)
    reader.check_labels([step for _, step in steps])
    last, verbose = own.field("last", str), own.field("verbose", bool)
    _check_names([*(name for name, _ in steps), last])
    return Pipeline([*steps, (last, model)], verbose=verbose)


def _check_names(names: list[str]) -> None:
    texts = all(type(name) is str and name and "__" not in name for name in names)
    if not texts or len({*names}) < len(names):
        raise ModelFileError("its steps have names that no pipeline has.")


def _nothing(X: Any, width: int) -> Any:
    """What comes out of a stub, which stands for a step in a `ColumnTransformer` that is set up."""
    return np.broadcast_to(0.0, (X.shape[0], width))


class Reader(Tree):
    """Nodes become steps again; arrays are taken as the writer has put them."""

    def __init__(self, file: Record, most: int) -> None:
        super().__init__(file)
        self.most = most  # columns that any step may have
        self.most_cells = FREE_CELLS + TIMES * most

    def steps(self, node: Record, last: int | None, depth: int = 0) -> list[tuple[str, Any]]:
        """Steps of a pipeline, each as wide as the one before it leaves; `last` is what is due."""
        out, due = [], None
        for name, inner in node.field("steps", list):
            step = self.step(inner, depth)
            out.append((name, step))
            if step == "passthrough":
                continue
            if due is not None and (takes_texts(step) or columns_in(step) != due):
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
        fields = Record(node)
        name, D = fields.field("class", str), fields.field("width", int)
        if not 1 <= D <= self.most:
            raise ModelFileError(f"its step {name[:40]!r} claims {D} columns.")
        if name == "Pipeline":
            return self._inner(fields, D, depth)
        if name == "ColumnTransformer":
            step = self._columns(node, D, depth)
        elif name in KINDS:
            step = read_step(KINDS[name], self.next_step(node, D))
            self._check_size(KINDS[name], step)
        else:
            raise ModelFileError(f"its step {name[:80]!r} is none of {LIST}.")
        self._label(step, node, D)
        return step

    def _check_size(self, kind: Kind, step: Any) -> None:
        """Refuse a step that would take far more memory than the file, when it is used."""
        widest, cells = (kind.widest or kind.width)(step), kind.cells(step)
        if widest > self.most or cells > self.most_cells:
            raise ModelFileError(
                f"its {type(step).__name__} would take {widest} columns and {cells} numbers more, "
                f"and the file allows {self.most} and {self.most_cells}."
            )

    def check_labels(self, steps: list[Any]) -> None:
        """Refuse steps whose names for their columns would take far more than the file."""
        longest = max((len(name) for names in self.names for name in names), default=SHORT)
        for step in steps:
            longest = self._longest(step, longest)

    def _longest(self, step: Any, longest: int) -> int:
        """The length of the longest name that a step gives, where it is given such a one."""
        if isinstance(step, Pipeline):
            for _, inner in step.steps:
                longest = self._longest(inner, longest)
            return longest
        if isinstance(step, ColumnTransformer):
            parts = [(name, made) for name, made, _ in step.transformers_]
            longest = max(len(name) + 2 + self._longest(made, longest) for name, made in parts)
        elif name := step_name(step):
            longest = KINDS[name].label(step, longest)
        else:
            return longest  # a word, or what scikit-learn makes of it
        if width_of(step) * longest > self.most_cells:
            raise ModelFileError(
                f"its {type(step).__name__} gives {width_of(step)} columns names of up to "
                f"{longest} characters."
            )
        return longest

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

    def _inner(self, node: Record, D: int, depth: int) -> Any:
        steps = self.steps(node, None, depth + 1)
        _check_names([name for name, _ in steps])
        first = next((step for _, step in steps if step != "passthrough"), None)
        if first is None or columns_in(first) != D:
            raise ModelFileError("its inner pipeline has not the columns that it is given.")
        return Pipeline(steps)

    def _columns(self, node: Fields, D: int, depth: int) -> Any:
        """A `ColumnTransformer`: set up around stubs, which the steps then replace."""
        made = Record(node).field("parts", list)
        steps = [i if i in WORDS else self.step(i, depth + 1) for _, i, _, _ in made]
        own = self.next_step(node, D)
        indices = own.take("columns", Rule("columns", "i"))
        if ((indices < 0) | (indices >= D)).any():
            raise ModelFileError("its ColumnTransformer takes columns that there are not.")
        sizes = [size for *_, size, _ in made]
        if not all(type(n) is int and n >= 0 for n in sizes) or sum(sizes) != indices.size:
            raise ModelFileError("it does not say which part takes which columns.")
        groups = np.split(indices, np.cumsum(sizes)[:-1])
        names, labels = [name for name, *_ in made], self._names(node, D)
        if names[-1:] != ["remainder"] or not steps[:-1]:
            raise ModelFileError("its ColumnTransformer has no parts.")
        _check_names(names[:-1])
        columns = [
            _given(group, how, labels, D) for group, (*_, how) in zip(groups, made, strict=True)
        ]
        for step, group, given in zip(steps, groups, columns, strict=True):
            one = isinstance(given, str | int)
            if not isinstance(step, str) and (
                columns_in(step) != group.size or takes_texts(step) != one
            ):
                raise ModelFileError("a part of its ColumnTransformer has not its columns.")
        return self._joined(own, labels, [*zip(names, steps, groups, columns, strict=True)])

    def _joined(self, own: Record, labels: Any, parts: list[tuple[str, Any, Any, Any]]) -> Any:
        made = own.field("parameters", dict)
        if not {*made} <= {*COLUMN_PARAMETERS}:
            raise ModelFileError("its ColumnTransformer has parameters that none has.")
        widths = [0 if isinstance(step, str) else width_of(step) for _, step, *_ in parts]
        if sum(widths) > self.most:
            raise ModelFileError(f"its ColumnTransformer claims to make {sum(widths)} columns.")
        stubs: list[Any] = []
        for (name, step, group, _), width in zip(parts, widths, strict=True):
            stub = FunctionTransformer(_nothing, kw_args={"width": width})
            stubs.append((name, step if isinstance(step, str) else stub, group.tolist()))
        joining = {name: decode(data) for name, data in made.items()}
        out = ColumnTransformer(stubs[:-1], remainder=stubs[-1][1], **joining)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            out.fit(np.broadcast_to(0.0, (1, own.sizes["D"])))
        left = {name: columns for name, _, columns in out.transformers_}
        if [*left.get("remainder", [])] != stubs[-1][2]:
            raise ModelFileError("its ColumnTransformer leaves other columns than it says.")
        by_name = {name: (step, columns) for name, step, _, columns in parts}
        out.transformers_ = [
            _restored(entry, labels, *by_name[entry[0]]) for entry in out.transformers_
        ]
        out.transformers = [
            (name, step if isinstance(step, str) else clone(step), columns)
            for name, step, _, columns in parts[:-1]
        ]
        rest = parts[-1][1]
        out.remainder = rest if isinstance(rest, str) else clone(rest)
        out.sparse_output_ = own.field("sparse_output", bool)
        return out


def _given(group: Any, how: Any, labels: Any, D: int) -> Any:
    """Columns as they were given; one of texts is in no list."""
    if group.size == 1 and how in ("one name", "one number"):
        return _given(group, how[4:], labels, D)[0]
    if how == "number":
        return group.tolist()
    if how == "name" and labels is not None:
        return [str(name) for name in labels[group]]
    ends = type(how) is list and len(how) == 3 and {*map(type, how)} <= {int, type(None)}
    if ends and group.tolist() == [*range(*slice(*how).indices(D))]:
        return slice(*how)
    raise ModelFileError("its ColumnTransformer does not say how its columns are called.")


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
