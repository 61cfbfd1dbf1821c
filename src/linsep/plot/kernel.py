"""The similarity of rows under a kernel, and the function that a kernel classifier learned."""

from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from matplotlib.colors import LinearSegmentedColormap
from matplotlib.patches import Patch

from linsep._system.threads import one_blas_thread
from linsep.errors import DataError
from linsep.estimators.labels import label_text, positive_code
from linsep.kernels import as_kernel
from linsep.kernels.base import Kernel, rows_of
from linsep.learners.support_vectors import checked_for_kernel
from linsep.mistake_bounds.margins import codes_of
from linsep.parameters import fitted_parameter
from linsep.plot import display
from linsep.plot.display import Panels, check_drawable, ink, show_title, wrapped
from linsep.plot.palettes import color_map, colors, hue
from linsep.plot.planes import dense, frame_like, grid_around, names_of
from linsep.validation.checks import check_beside, labels_of

#: rows of a Gram matrix that is drawn; of more, so many are taken evenly from each class
MOST_ROWS = 500
#: most classes whose names and borders are drawn
MOST_NAMES = 20
#: relative widths of the panels
WIDTHS = (1.1, 1.0, 1.2)
#: places of the grid of the surface in each direction
RESOLUTION = 50


class KernelDisplay(Panels):
    """The Gram matrix of rows ordered by class, its eigenvalues, and the learned function.

    For a classifier of two classes and two features, the third panel is the surface f(x); its
    contour at 0 is the boundary. For a kernel that counts substrings, it shows the ones with the
    largest weights: f(x) is the sum of the weights of all substrings of x.

    Attributes
    ----------
    gram : array of shape (rows, rows)
    y : int array of shape (rows,), class indices, in ascending order; or None
    classes : array of labels
    title : str, which rows are drawn, if not all
    grid, values : a pair of arrays, coordinates of a grid, and f at its points; or None
    points, names : two features of the rows, and their names; or None
    substrings : list of (str, float), substrings and their weights, the largest first
    gram_ : AxesImage
    colorbar_ : Colorbar
    borders_ : list of Line2D between the classes
    eigenvalues_ : Line2D of the positive eigenvalues
    negative_ : Line2D of the magnitudes of the negative ones, or None
    surface_ : Poly3DCollection, or None
    boundary_ : ContourSet where f is 0, or None
    points_ : list of Path3DCollection, one per class, below the surface
    bars_ : BarContainer of the weights of substrings, or None
    """

    grid = values = points = names = None
    substrings: Sequence[tuple[str, float]] = ()

    @classmethod
    def from_kernel(cls, kernel: Any, X: Any, y: Any = None) -> Self:
        """Draw the Gram matrix of rows.

        Parameters
        ----------
        kernel : kernel of :mod:`linsep.kernels`, its name, or a function of two rows
            With "precomputed" X is the Gram matrix.
        X : rows of the type that the kernel takes
        y : array of shape (rows,), default None
            Classes; without them rows keep their order.
        """
        check_beside(X, y=y)
        fitted = as_kernel(kernel).fitted(X)
        classes = np.zeros(0) if y is None else np.unique(labels_of(y))
        found, _ = _ordered(fitted, fitted.prepare(X), y, classes)
        return cls(classes=classes, **found).plot()

    @classmethod
    @display.of_features
    def from_estimator(cls, estimator: Any, X: Any, y: Any, *, top: int = 20) -> Self:
        """Draw the Gram matrix of rows and what a kernel classifier learned.

        Parameters
        ----------
        estimator : fitted :class:`linsep.KernelPerceptron`
        X, y : rows of the type that its kernel takes, and their classes
        top : int, default=20
            Number of substrings to show.
        """
        check_drawable(estimator, "kernel_", "has no kernel; use a KernelPerceptron.")
        kernel, classes = estimator.kernel_, estimator.classes_
        if not hasattr(kernel, "takes"):  # as kernels of linsep do
            raise DataError("This kernel is of another library.", code="unsupported")
        raw = checked_for_kernel(estimator, kernel, X, reset=False)
        found, chosen = _ordered(kernel, kernel.prepare(raw), y, classes)
        if len(classes) == 2:
            if kernel.takes == "vectors" and raw.shape[1] == 2:
                points = np.asarray(dense(raw[chosen]), dtype=np.float64)
                grid, places = grid_around(points, RESOLUTION)
                values = np.reshape(
                    estimator.decision_function(frame_like(X, places)), 2 * [RESOLUTION]
                )
                found |= {"grid": grid, "values": values, "points": points}
                found["names"] = names_of(X, 2, estimator)
            if fitted_parameter(estimator, "keep") != "vote":
                found["substrings"] = _substrings(estimator)[:top]
        return cls(classes=classes, **found).plot()

    def _draw(self) -> list[Any]:
        kinds = ["rectilinear", "rectilinear"]
        kinds += ["3d"] if self.values is not None else ["rectilinear"] * bool(self.substrings)
        n = len(kinds)
        self.figure_ = display.new_figure(4.6 * n, 4.2)
        self.figure_.get_layout_engine().set(w_pad=0.1)
        grid = self.figure_.add_gridspec(1, n, width_ratios=WIDTHS[:n])
        self.axes_ = [self.figure_.add_subplot(grid[k], projection=kinds[k]) for k in range(n)]
        self.ax_ = self.axes_[0]
        self._draw_gram()
        self._draw_spectrum(self.axes_[1])
        if self.values is not None:
            self._draw_surface(self.axes_[2], self.values)
        elif self.substrings:
            self._draw_substrings(self.axes_[2])
        return []

    def _draw_gram(self) -> None:
        ax = self.ax_
        self.gram_ = ax.imshow(self.gram, cmap=color_map("viridis"), interpolation="none")
        self.colorbar_ = self.figure_.colorbar(self.gram_, ax=ax, shrink=0.8)
        self.borders_: list[Any] = []
        if self.y is not None and len(np.unique(self.y)) <= MOST_NAMES:
            known, starts, counts = np.unique(self.y, return_index=True, return_counts=True)
            self.borders_ = [
                line(start - 0.5, color="white", linewidth=1.2)
                for start in starts[1:] for line in (ax.axhline, ax.axvline)
            ]  # fmt: skip
            middles = starts + (counts - 1) / 2
            ax.set_yticks(middles, [wrapped(label_text(self.classes[k])) for k in known])
            ax.set_xticks([])  # the same as on the left
        show_title(ax, "Gram matrix" + ", rows by class" * (self.y is not None), self.title)

    def _draw_spectrum(self, ax: Any) -> None:
        with one_blas_thread:  # threads that wait for a busy core cost seconds
            values = np.linalg.eigvalsh(self.gram)[::-1]
        rounding = len(values) * np.finfo(np.float64).eps * np.abs(values).max()
        positive, negative = values[values > rounding], -values[values < -rounding][::-1]
        rank = len(positive) + len(negative)
        ax.set(xlabel="number", ylabel="eigenvalue", yscale="log" if rank else "linear")

        def drawn(sizes: np.ndarray, **look: Any) -> Any:
            look |= {"markersize": 4, "linewidth": 0.8}
            return ax.plot(np.arange(1, len(sizes) + 1), sizes, **look)[0]

        self.eigenvalues_ = drawn(positive, color=hue(0), marker="o", label="eigenvalues")
        if len(negative):
            self.negative_ = drawn(
                negative, color=hue(5), marker="x", ls="--",
                label="magnitude of negative eigenvalues",
            )  # fmt: skip
            ax.legend(frameon=False, loc="upper right")
        show_title(ax, f"spectrum: rank {rank:,} of {len(values):,}")

    def _draw_surface(self, ax: Any, values: np.ndarray) -> None:
        assert self.grid is not None
        pair = colors(2)
        shades = LinearSegmentedColormap.from_list("classes", [pair[0], "#eeeeee", pair[1]])
        x, y = np.meshgrid(*self.grid)
        full = float(np.median(np.abs(values))) or 1.0  # boundary between two classes
        self.surface_ = ax.plot_surface(
            x, y, values, cmap=shades, vmin=-full, vmax=full, alpha=0.75, linewidth=0,
            rcount=RESOLUTION, ccount=RESOLUTION, rasterized=True,
        )  # fmt: skip
        floor = float(values.min()) - 0.6 * float(np.ptp(values))
        if values.min() < 0 < values.max():
            self.boundary_ = ax.contour(x, y, values, levels=[0.0], colors=[ink()])
            ax.contour(x, y, values, levels=[0.0], colors=[ink()], offset=floor)
        self.points_ = display.draw_in_space(ax, self.points, self.y, self.classes, floor, 16.0)
        ax.set_zlim(floor, None)
        ax.set(xlabel=wrapped(self.names[0]), ylabel=wrapped(self.names[1]), zlabel="f(x)")
        ax.zaxis.labelpad = 8
        ax.view_init(elev=32, azim=-60)
        ax.set_box_aspect(None, zoom=0.9)  # leaves room for the name of the height
        ax.legend(frameon=False, loc="upper right")

    def _draw_substrings(self, ax: Any) -> None:
        names, weights = zip(*self.substrings, strict=True)
        looks = [
            {"facecolor": color, "edgecolor": ax.get_facecolor(), "hatch": hatch}
            for color, hatch in zip(colors(2), ("////", ""), strict=True)
        ]
        self.bars_ = ax.barh(
            range(len(names)), weights, tick_label=list(map(display.literal, names))
        )
        for bar, weight in zip(self.bars_, weights, strict=True):
            bar.set(**looks[weight > 0])
        ax.invert_yaxis()
        ax.tick_params(axis="y", labelfontfamily="monospace")
        ax.axvline(0.0, color=ink(), linewidth=0.8)
        ax.set(xlabel="weight per occurrence", ylim=(len(names) - 0.3, -0.7))
        show_title(ax, "substrings with the largest weights")
        handles = [
            Patch(**look, label=wrapped(f"for {label_text(label)}"))
            for look, label in zip(looks, self.classes, strict=True)
        ]
        ax.legend(
            handles=handles, frameon=False, loc="upper left", bbox_to_anchor=(0.0, -0.13), ncols=2,
            borderaxespad=0.0,
        )  # fmt: skip


def _ordered(
    kernel: Kernel, rows: Any, y: Any, classes: np.ndarray
) -> tuple[dict[str, Any], np.ndarray]:
    """Return the Gram matrix of rows sorted by class, or of some of many, and their numbers."""
    n = rows_of(rows)
    codes = None if y is None else codes_of(y, classes, n)
    order = np.arange(n) if codes is None else np.argsort(codes, kind="stable")
    said = ""
    if n > MOST_ROWS:
        order = order[np.linspace(0, n - 1, MOST_ROWS).round().astype(int)]
        said = f"{MOST_ROWS:,} of {n:,} rows, evenly chosen"
    some = rows[order]
    found = {"gram": kernel.gram(some, some), "y": codes if codes is None else codes[order]}
    return found | {"title": said}, order


def _substrings(estimator: Any) -> list[tuple[str, float]]:
    """Return the substrings u of the support vectors x_j with their weights in the kernel's feature
    space, sum_j a_j count_u(x_j), the largest first; none if the kernel counts no substrings.
    """
    kernel = estimator.kernel_
    if kernel.takes != "strings" or not len(estimator.support_):
        return []
    found = kernel.counts(kernel.prepare(estimator.support_vectors_))
    if found is None:
        return []
    names, counts, weights = found
    sign = 1 if positive_code(estimator) else -1
    totals = weights * np.asarray(counts.T @ (sign * estimator.dual_coef_[0]))
    return [
        (repr(names[u].item()), float(totals[u]))
        for u in np.argsort(-np.abs(totals), kind="stable")
        if totals[u]
    ]
