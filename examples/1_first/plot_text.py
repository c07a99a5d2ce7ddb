"""
Which chapter is a text from?
=============================

Texts become wide and sparse tables: one column for each word. The texts here are real and come with
scipy: the documentation of its functions. The task: from the words alone, tell functions for
statistics, signals, linear algebra and special functions apart.
"""

import inspect
import re

import matplotlib.pyplot as plt
import numpy as np
import scipy.linalg
import scipy.signal
import scipy.special
import scipy.stats
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import RidgeClassifierCV
from sklearn.metrics import ConfusionMatrixDisplay, balanced_accuracy_score
from sklearn.model_selection import train_test_split
from sklearn.svm import LinearSVC

from skstretch import StretchyClassifierCV

chapters = {
    "statistics": scipy.stats,
    "signals": scipy.signal,
    "linear algebra": scipy.linalg,
    "special": scipy.special,
}
# words that give the chapter away: names of modules, of functions, of the package
told = re.compile(r"scipy|numpy|stats|signal|linalg|special|\w+\.\w+|[_\d]+")
texts, labels = {}, {}
for chapter, module in chapters.items():
    for name in module.__all__:
        text = inspect.getdoc(getattr(module, name)) or ""
        if len(text) > 300 and text not in texts.values():
            texts[chapter, name] = text
            labels[chapter, name] = chapter
y = np.array(list(labels.values()))
words = TfidfVectorizer(min_df=2, sublinear_tf=True, token_pattern=r"[a-z]{3,}")
X = words.fit_transform([told.sub(" ", text.lower()) for text in texts.values()])
print(f"{X.shape[0]} texts, {X.shape[1]:,} words, {X.nnz / np.prod(X.shape):.1%} of entries stored")

# %%
# The sparse matrix goes in as it is; it is never filled in. Classes of different sizes get equal
# weight by default. The rivals are ridge regression and a support vector machine on the weights as
# they are, which keeps rare words small; on well-made text features that is hard to beat, and the
# lines say which one does better. For texts a ``LinearSVC`` is usually the first choice: it is also
# the fastest of the three.

train, test = train_test_split(np.arange(y.size), test_size=0.5, stratify=y, random_state=0)
model = StretchyClassifierCV().fit(X[train], y[train])
ridge = RidgeClassifierCV(np.logspace(-3, 3, 50), class_weight="balanced").fit(X[train], y[train])
svm = LinearSVC(class_weight="balanced").fit(X[train], y[train])
for rival in (model, ridge, svm):
    score = balanced_accuracy_score(y[test], rival.predict(X[test]))
    print(f"{type(rival).__name__:21} balanced accuracy {score:.3f}")

# %%
# Where it errs:

figure, axes = plt.subplots(figsize=(5.6, 4.6), layout="constrained")
ConfusionMatrixDisplay.from_estimator(
    model, X[test], y[test], ax=axes, cmap="Blues", colorbar=False, xticks_rotation=20
)

# %%
# The words that speak most for each chapter: the effect of one standard deviation of each word.

names = words.get_feature_names_out()
spread = np.sqrt(X[train].power(2).mean(axis=0) - np.square(X[train].mean(axis=0)))
effect = model.coef_ * np.asarray(spread).ravel()
for chapter, row in zip(model.classes_, effect, strict=True):
    print(f"{chapter:15}", ", ".join(names[np.argsort(-row)[:9]]))
