#!/usr/bin/env bash
# The same inputs, checks and verdicts for 1, 2, 3 and 4 ranks on the host, and for two workers of
# one process: same_for_any_ranks.sh KBENCH MPIRUN SOURCE_DIR
set -euo pipefail

kbench=$1 mpirun=$2 source=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OPENBLAS_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

cases() {
  local kind
  for kind in "$@"; do echo "batch: 3; n: 33; cond: 1; seed: 77; case: $kind"; done
}
cases dense rankdef nearrank clustered band rowscale nearcollinear upper >"$work/qr_v2.txt"
cases spectrum psd rankdef nearrank repeated clustered band rowscale >"$work/eigh_py.txt"

for problem in qr_v2 eigh_py; do
  run=("$kbench" test "$work/$problem.txt" --problem "$problem" --hash-inputs)
  "${run[@]}" --device host --json "$work/alone.json" >/dev/null
  "${run[@]}" --devices host,host --json "$work/two.json" >/dev/null
  for ranks in 1 2 3 4; do
    "$mpirun" -n "$ranks" "${run[@]}" --device host --json "$work/$ranks.json" >/dev/null
  done
  python3 -c 'import json, sys
for case in json.load(open(sys.argv[1]))["cases"]:
    assert [len(entry["sha256"]) for entry in case["inputs"]] == [64], case["inputs"]' "$work/4.json"
  python3 "$source/scripts/same_results.py" --exact \
    "$work/alone.json" "$work/two.json" "$work"/[1-4].json
done
