"""Draws docs/boundary.svg, the picture of docs/kernels.md; needs matplotlib.

Run it as ``python docs/draw_boundary.py``.
"""

from pathlib import Path

import matplotlib

matplotlib.use("svg")
import numpy as np
from matplotlib import pyplot
from sklearn.datasets import make_moons

from linsep import KernelPerceptron

X, y = make_moons(300, noise=0.2, random_state=0)
grid = np.linspace(-1.8, 2.8, 120), np.linspace(-1.4, 1.9, 90)
places = np.stack(np.meshgrid(*grid), axis=-1)
figure, panels = pyplot.subplots(1, 2, figsize=(9, 3.4), sharey=True)
for panel, keep in zip(panels, ("last", "average"), strict=True):
    model = KernelPerceptron(kernel="rbf", gamma=2.0, keep=keep, max_iter=20).fit(X, y)
    scores = model.decision_function(places.reshape(-1, 2)).reshape(places.shape[:2])
    panel.contourf(*grid, np.sign(scores), levels=[-2, 0, 2], colors=["#cfe0f3", "#f7dcc9"])
    panel.contour(*grid, scores, levels=[0], colors="black", linewidths=1.2)
    for label, colour in ((0, "#1f5fa8"), (1, "#c25a14")):
        panel.scatter(*X[y == label].T, s=9, color=colour, linewidths=0)
    panel.scatter(
        *model.support_vectors_.T, s=34, facecolors="none", edgecolors="black", linewidths=0.6
    )
    panel.set(
        title=f'keep="{keep}", {model.support_.size} support vectors (circled)',
        xticks=[],
        yticks=[],
    )
figure.tight_layout()
pyplot.rcParams["svg.hashsalt"] = "linsep"
figure.savefig(Path(__file__).with_name("boundary.svg"), metadata={"Date": None})
