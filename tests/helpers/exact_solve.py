"""Square systems of equations in fractions, as an oracle."""


def solved(A, b):
    """The solution by Gauss and Jordan, or None if the matrix is singular."""
    left = [[*row, x] for row, x in zip(A, b, strict=True)]
    for k in range(len(left)):
        pivot = next((i for i in range(k, len(left)) if left[i][k]), None)
        if pivot is None:
            return None
        left[k], left[pivot] = left[pivot], left[k]
        left[k] = [x / left[k][k] for x in left[k]]
        left = [
            row if i == k else [x - row[k] * p for x, p in zip(row, left[k], strict=True)]
            for i, row in enumerate(left)
        ]
    return [row[-1] for row in left]
