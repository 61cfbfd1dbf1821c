"""Tables: CSV, TSV, JSON lines, Parquet and Arrow as numbers, columns by columns."""
