#!/bin/sh
# What `make demo` runs: the main job on real data, with the real command line.
set -eu
folder=${1:-demo}
mkdir -p "$folder"
say() { printf '\n\033[1m$ %s\033[0m\n' "$*"; "$@"; }

# Write three data sets of scikit-learn as CSV files.
python docs/demo_data.py "$folder"

say linsep fit "$folder/cancer.csv" --target diagnosis --test "$folder/cancer-test.csv" \
    --max-iter 300 --early-stopping --n-iter-no-change 30 \
    --model "$folder/cancer.linsep" --force
say linsep inspect "$folder/cancer.linsep" --top 3
say linsep fit "$folder/digits.csv" --target digit --test "$folder/digits-test.csv" \
    --max-iter 100 --model "$folder/digits.linsep" --force
say linsep score "$folder/digits.linsep" "$folder/digits-test.csv"
say linsep predict "$folder/digits.linsep" "$folder/digits-test.csv" \
    --output "$folder/predicted.txt" --force
say linsep fit "$folder/diabetes.csv" --target progression --learner linear \
    --test "$folder/diabetes-test.csv"
printf '\n%s has %s predictions; all files are in %s/\n' \
    "$folder/predicted.txt" "$(wc -l < "$folder/predicted.txt" | tr -d ' ')" "$folder"
