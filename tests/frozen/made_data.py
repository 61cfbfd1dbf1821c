"""Small data of whole numbers and halves, whose sums are exact in any order."""

import gzip

import pyarrow as pa
from pyarrow import parquet

TOWNS = ("Ulm", "Bonn", "Trier", "Kiel")
WORDS = ("cheap", "offer", "lunch", "meeting", "free", "report", "café", "win")


def spread(k, factor, size):
    """A number of -size, ..., size that looks random but is not."""
    return (k * factor + k * k) % (2 * size + 1) - size


def flats(n):
    """A table of flats: numbers, text, weights, groups, days and a label of three values."""
    for k in range(n):
        area, floor = 40 + (k * 13) % 50, k % 6
        price = area * 3 + spread(k, 5, 20) / 2 - floor * 2
        kind = "slow" if area + spread(k, 7, 12) > 68 else "fast" if floor < 3 else "never"
        yield {
            "id": k, "area": area, "floor": floor, "town": TOWNS[(k * 3 + k // 4) % 4],
            "day": f"2025-0{1 + k % 9}-1{k % 7}", "owner": f"o{k % 7}", "weight": 1 + k % 3,
            "price": price, "let": kind, "large": int(area + spread(k, 3, 15) > 66),
        }  # fmt: skip


def write_csv(path, records, *, missing=()):
    """Write records as CSV; ``missing`` are (row, column) of empty cells."""
    records = list(records)
    lines = [",".join(records[0])]
    for k, record in enumerate(records):
        lines.append(",".join("" if (k, c) in missing else str(v) for c, v in record.items()))
    path.write_text("\n".join(lines) + "\n")


def write_all(folder):
    """Write all files."""
    table = list(flats(72))
    missing = {(3, "area"), (10, "floor"), (11, "town"), (40, "area"), (41, "town")}
    write_csv(folder / "flats.csv", table[:60])
    write_csv(folder / "flats-new.csv", table[60:])
    write_csv(folder / "gaps.csv", table[:60], missing=missing)
    parquet.write_table(pa.Table.from_pylist(table[:60]), folder / "flats.parquet")
    lines = [str(record).replace("'", '"') + "\n" for record in table[:60]]
    (folder / "flats.jsonl").write_text("".join(lines))
    with gzip.GzipFile(folder / "flats.csv.gz", "wb", mtime=0) as file:
        file.write((folder / "flats.csv").read_bytes())
    (folder / "ratings.vw").write_text(
        "".join(
            f"{1 if (k * k + k // 3) % 5 < 3 else -1} {1 + k % 2} r{k}|user u{k % 4} age:{k % 5}"
            f" |film f{k % 3} length:{1 + k % 3 / 2}\n"
            for k in range(40)
        )
    )
    write_texts(folder)


def write_texts(folder):
    """Write messages as a table."""
    texts = []
    for k in range(36):
        words = [WORDS[(k + j * (2 + k % 3)) % 8] for j in range(3 + k % 4)]
        kind = "ham" if "meeting" in words or "report" in words else "spam"
        texts.append((kind, k % 5, " ".join(words).capitalize()))
    lines = [f'{kind},{n},"{text}, {n}"' for kind, n, text in texts]
    (folder / "messages.csv").write_text("kind,stars,message\n" + "\n".join(lines) + "\n")
