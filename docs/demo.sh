#!/bin/sh
# What `make demo` runs: the commands of the README on real data, with the real command line.
set -eu
folder=${1:-demo}
say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; "$@"; }

# Write three data sets of scikit-learn as CSV files.
python docs/demo_data.py "$folder"

say linsep fit "$folder/digits.csv" --target digit --model "$folder/digits.linsep" \
    --test "$folder/digits-test.csv" --force
say linsep predict "$folder/digits.linsep" "$folder/digits-test.csv" \
    --output "$folder/labels.txt" --force
say linsep separate docs/endometrial.csv --target HG

cat <<END

$folder/ has data of tumors, digits and diabetes, a model, and $(wc -l < "$folder/labels.txt" | tr -d ' ') predictions. Next:

  . .venv/bin/activate
  linsep describe $folder/cancer.csv --target diagnosis
  linsep lab

docs/start/first-model.md goes on from here, docs/start/churn.md with your own CSV.
END
