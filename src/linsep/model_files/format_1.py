"""Model files of format 1, whose checksum does not cover the types of arrays.

It is in the description: the SHA-256 of the description and of names, shapes and bytes of all
arrays. Their types are checked by name instead.
"""

import hashlib
import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np

from linsep.certificate import proof_file
from linsep.errors import ModelFileError

FORMAT = 1
#: allowed dtype kinds of an array by the last part of its name; others must be floats
WHOLE = (
    "born", "record", "pocket_record", "rounds", "updates",
    "features", "columns", "starts", "machines", "numbers", "out",
)  # fmt: skip
KINDS = dict.fromkeys(WHOLE, "i") | {
    "pocket_mistakes": "fi", "text": "u", "limits": "u", "kept": "b",
}  # fmt: skip

Arrays = dict[str, np.ndarray]


#: parameters and arrays that have been renamed
PARAMETERS = {"vote_megabytes": "vote_mb"}
ARRAYS = {"weights.steadiest": "weights.longest_surviving", "counts.born": "counts.created"}


def by_present_names(parameters: dict[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """Return parameters and arrays with earlier names replaced by the present ones."""
    named = {}
    for name, array in arrays.items():
        first = ".".join(name.split(".")[:2])
        named[ARRAYS.get(first, first) + name.removeprefix(first)] = array
    return {PARAMETERS.get(name, name): value for name, value in parameters.items()}, named


def upgraded(path: Path, arrays: Arrays, about: dict[str, Any]) -> tuple[Arrays, dict[str, Any]]:
    """Convert arrays and description of format 1 to format 2.

    A proof in an obsolete form is left out with a UserWarning.

    Raises
    ------
    ModelFileError
        If the checksum or the type of an array is wrong, or the description is incomplete.
    """
    about = dict(about)
    if about.pop("sha256", None) != _digest(arrays, about):
        raise ModelFileError(f"{path} was altered or damaged (its checksum is wrong); fit again.")
    for name, array in arrays.items():
        if array.dtype.kind not in KINDS.get(name.split(".")[-1], "f"):
            raise ModelFileError(
                f"{path} was altered or damaged ({name} has the type {array.dtype}); fit again."
            )
    about |= {"format": FORMAT + 1, "features": about.get("features")}
    about.setdefault("interrupted", False)
    if (about.get("recipe") or {}).get("format") == "table":
        about["recipe"] = {"reference": {}} | about["recipe"]
    if (training := about.get("training")) and training.get("began") is None:
        training["began"] = {
            "fresh": False,
            "weighted": True,
        }  # unknown, so theorems must assume it
    _leave_out_earlier_proofs(path, about)
    if "rss" in about.get("fit", {}):
        return _with_norms(arrays, about)
    mistakes = "counts.pocket_mistakes"
    if mistakes in arrays:
        arrays = arrays | {mistakes: arrays[mistakes].astype(np.float64)}
    return arrays, about


def _digest(arrays: Arrays, about: dict[str, Any]) -> str:
    digest = hashlib.sha256(json.dumps(about, sort_keys=True).encode())
    for name in sorted(arrays):
        digest.update(name.encode() + repr(arrays[name].shape).encode())
        digest.update(np.ascontiguousarray(arrays[name]).data)
    return digest.hexdigest()


def _leave_out_earlier_proofs(path: Path, about: dict[str, Any]) -> None:
    """Replace an obsolete verdict or cycle by None and warn."""
    for place, name in ((about, "separation"), (about.get("training", {}), "cycle")):
        if place.get(name) is None or json.loads(place[name])["format"] == proof_file.FORMAT:
            continue
        place[name] = None
        warnings.warn(
            f"The proof in {path} is in an earlier form and is left out; fit again to have one.",
            stacklevel=5,
        )


def _with_norms(arrays: Arrays, about: dict[str, Any]) -> tuple[Arrays, dict[str, Any]]:
    """Convert sums of squares of least squares to norms and means."""
    numbers = dict(about["fit"])
    rss, tss, coef = numbers.pop("rss"), numbers.pop("tss"), arrays["coef"]
    numbers |= {
        "mean_y": numbers["intercept"] + float(coef @ arrays["means"]),
        "residual_norm": rss**0.5,
        "y_norm": tss**0.5,
        "explained_norm": max(0.0, tss - rss) ** 0.5,
    }
    return arrays | {"means_rest": np.zeros(1 + coef.size)}, about | {"fit": numbers}
