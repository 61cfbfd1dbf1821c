"""Names of the features that the columns of a table become."""

from collections.abc import Collection, Iterable
from typing import Any


def shown_names(
    numeric: Iterable[str], text: Collection[str], words: Collection[str] = ()
) -> dict[str, str]:
    """Return how each column is called in the names of its features, which all differ.

    The feature of a column of numbers has the name of the column, those of a text column are
    ``column=value`` and of one whose words are features ``column:term``. A column whose name
    begins like the features of another one, as ``a=b`` beside the text column ``a``, stands in
    double quotes there, with its own quotes doubled, and so does one that begins with a quote.

    Parameters
    ----------
    numeric, text, words : names of the columns of each kind

    Returns
    -------
    dict of column to text
    """
    found = {name: name for name in (*numeric, *text, *words)}
    kinds = {"=": text, ":": words}
    like = [
        name
        for name in found
        if any(sign in kinds and name[:k] in kinds[sign] for k, sign in enumerate(name))
    ]
    if like:
        for name in (*like, *(name for name in found if name.startswith('"'))):
            found[name] = '"' + name.replace('"', '""') + '"'
    return found


def names_in_recipe(recipe: dict[str, Any]) -> dict[str, str]:
    """Return :func:`shown_names` of the columns of a table's recipe."""
    return shown_names(recipe["numeric"], recipe["text"], recipe.get("words", ()))
