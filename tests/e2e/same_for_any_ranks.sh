#!/usr/bin/env bash
# The same inputs, checks and verdicts for 1, 2, 3 and 4 ranks on the host, and for two workers of
# one process: same_for_any_ranks.sh KBENCH MPIRUN SOURCE_DIR
set -euo pipefail

kbench=$1 mpirun=$2 source=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1

for kind in dense rankdef nearrank clustered band rowscale nearcollinear upper; do
  echo "batch: 3; n: 33; cond: 1; seed: 77; case: $kind"
done >"$work/cases.txt"
"$kbench" test "$work/cases.txt" --problem qr_v2 --device host --json "$work/alone.json" >/dev/null
"$kbench" test "$work/cases.txt" --problem qr_v2 --devices host,host --json "$work/two.json" >/dev/null
for ranks in 1 2 3 4; do
  "$mpirun" -n "$ranks" "$kbench" test "$work/cases.txt" --problem qr_v2 --device host \
    --json "$work/$ranks.json" >/dev/null
done
python3 "$source/scripts/same_results.py" --exact \
  "$work/alone.json" "$work/two.json" "$work"/[1-4].json
