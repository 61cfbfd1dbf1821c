"""Write breast cancer, digits and diabetes, which scikit-learn carries, as CSV files."""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits
from sklearn.utils import Bunch


def write(folder: Path, name: str, data: Bunch, target: str, labels: np.ndarray) -> None:
    """Write one data set as NAME.csv and every fourth row of it as NAME-test.csv."""
    columns = {str(n): data.data[:, j] for j, n in enumerate(data.feature_names)}
    table = pa.table(columns | {target: labels})
    order = np.random.default_rng(0).permutation(len(labels))
    pyarrow.csv.write_csv(table.take(order[len(order) // 4 :]), folder / f"{name}.csv")
    pyarrow.csv.write_csv(table.take(order[: len(order) // 4]), folder / f"{name}-test.csv")


folder = Path(sys.argv[1])
folder.mkdir(parents=True, exist_ok=True)
cancer, digits, diabetes = load_breast_cancer(), load_digits(), load_diabetes(scaled=False)
write(folder, "cancer", cancer, "diagnosis", cancer.target_names[cancer.target])
write(folder, "digits", digits, "digit", digits.target)
write(folder, "diabetes", diabetes, "progression", diabetes.target)
