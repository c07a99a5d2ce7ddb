"""
Serving a model with ONNX
=========================

A web service, a C++ program or a phone need not have Python to use a model.
:func:`skstretch.to_onnx` writes a fitted model as an ONNX graph, which many runtimes read. Here
onnxruntime answers, and its answers are compared with those of the model.

The data, measurements of nuclei in biopsies of the breast, come with scikit-learn.
"""

from time import perf_counter

import matplotlib.pyplot as plt
import numpy as np
import onnxruntime
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import skstretch
from skstretch import StretchyClassifier

X, y = load_breast_cancer(return_X_y=True)
X, new, y, truth = train_test_split(X, y, test_size=0.5, stratify=y, random_state=0)
model = StretchyClassifier().fit(X, y)

graph = skstretch.to_onnx(model)
data = graph.SerializeToString()
session = onnxruntime.InferenceSession(data, providers=["CPUExecutionProvider"])
print(
    f"{len(data) / 1024:.0f} KiB; outputs:",
    ", ".join(output.name for output in session.get_outputs()),
)

# %%
label, proba = session.run(["label", "probabilities"], {"X": new})
print("labels equal:", bool((label == model.predict(new)).all()))
print(f"largest difference of probabilities: {np.abs(proba - model.predict_proba(new)).max():.0e}")

# %%
# A service is asked for one sample at a time. There the graph answers much sooner, because it does
# not check names, types and missing values.

times = {"model.predict_proba": [], "onnxruntime": []}
for row in new[:100]:
    one = row[None]
    for name, ask in (
        ("model.predict_proba", lambda one=one: model.predict_proba(one)),
        ("onnxruntime", lambda one=one: session.run(["probabilities"], {"X": one})),
    ):
        start = perf_counter()
        ask()
        times[name].append(1e6 * (perf_counter() - start))
figure, axes = plt.subplots(figsize=(6, 2.6), layout="constrained")
axes.boxplot(
    list(times.values()), orientation="horizontal", showfliers=False, tick_labels=list(times)
)
axes.set(xscale="log", xlabel="microseconds for one sample")
