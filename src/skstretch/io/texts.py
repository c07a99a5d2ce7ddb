"""Steps that turn texts into columns, in a file: their words as text, and nothing that is code.

A vectorizer of scikit-learn is its parameters, its words in the order of their columns, and a
weight for each. What could be dangerous in a file is refused on both ways: functions, names of
files in place of texts, and patterns or runs of words that could take very long on a short text.
"""

import re
from typing import Any

import numpy as np

from skstretch.exceptions import ModelFileError
from skstretch.io.archive import Rule
from skstretch.io.header import NotStorableError, Record

ANALYZERS = ("word", "char", "char_wb")
# words or characters in a run, above what anyone counts
LONGEST_RUN = 16
# characters of a pattern, and how many of its parts may repeat
LONGEST_PATTERN, MOST_REPEATS = 200, 4
IDF = Rule("words", itemsize=None, finite=True)


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


def fit_weights(step: Any, file: Record) -> None:
    """A fitted TfidfTransformer of D columns."""
    step.fit(np.ones((1, 1)))
    file.sizes["words"] = file.sizes["D"]
    read_weights(step, file)


def read_weights(step: Any, file: Record) -> None:
    """The weights in the place of what another fit has learned."""
    if step.use_idf:
        step.idf_ = file.take("idf", IDF)
        if not (step.idf_ > 0).all():
            raise ModelFileError("its words have weights that are not positive.")


def count_words(step: Any) -> int:
    """Columns that come out of a vectorizer."""
    return len(step.vocabulary_)


def longest_word(step: Any, longest: int) -> int:
    """Characters of the longest name of a column that comes out."""
    return max(map(len, step.vocabulary_))


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
