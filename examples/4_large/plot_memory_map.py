"""
A file that is larger than it should be
=======================================

A memory map is an array that stays on the disk. It is read in blocks: how much memory a fit takes
is set by scikit-learn's ``working_memory``, not by the size of the file.

The file is generated: 200 pictures of 100,000 grey levels, one byte each; the target is the mean
grey of one corner.
"""

import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
import numpy as np
import sklearn

from skstretch import StretchyRegressor

SIDE, COUNT = 316, 200
rng = np.random.default_rng(0)
folder = tempfile.TemporaryDirectory()
path = Path(folder.name) / "pictures.npy"
pictures = np.lib.format.open_memmap(path, mode="w+", dtype="uint8", shape=(COUNT, SIDE * SIDE))
light = rng.uniform(0.2, 0.8, COUNT)
for i in range(COUNT):  # picture by picture: the whole is never in memory
    picture = rng.integers(0, 256, (SIDE, SIDE))
    picture[:60, :60] = picture[:60, :60] * light[i]
    pictures[i] = picture.ravel()
pictures.flush()
del pictures

X = np.load(path, mmap_mode="r")
print(f"{X.shape[0]} x {X.shape[1]:,}, {path.stat().st_size / 2**20:.0f} MiB on the disk")

# %%
# The estimator takes the map as it is, and ``plan_`` tells how it was read. With less working
# memory the model is the same to rounding: only the blocks are smaller.

slopes = {}
for megabytes in (1024, 16):
    with sklearn.config_context(working_memory=megabytes):
        model = StretchyRegressor(k=2.0, c=1e-7, quadrant="identity").fit(X[:150], light[:150])
    slopes[megabytes] = model.coef_
    error = np.sqrt(np.mean((model.predict(X[150:]) - light[150:]) ** 2))
    print(f"working memory {megabytes:4} MiB: error {error:.3f}, always the mean {light.std():.3f}")
difference = np.abs(slopes[16] - slopes[1024]).max() / np.abs(slopes[1024]).max()
print(f"largest relative difference of the two: {difference:.0e}")

# %%
# One coefficient per pixel, blurred a little for the eye: the corner is where the light is.

picture = model.coef_.reshape(SIDE, SIDE)
block = picture[:312, :312].reshape(39, 8, 39, 8).mean(axis=(1, 3))
figure, axes = plt.subplots(figsize=(4.4, 3.6), layout="constrained")
image = axes.imshow(block, cmap="viridis", extent=(0, 312, 312, 0))
axes.set_title("effect of a grey level")
figure.colorbar(image)
del X
folder.cleanup()
