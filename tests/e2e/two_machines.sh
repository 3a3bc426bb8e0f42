#!/usr/bin/env bash
# Two ranks that take each other for other machines, because one has another host name: they meet
# over the network and compare clocks. 77 where a host name cannot be changed or no network is there.
#   two_machines.sh KBENCH MPIRUN SOURCE_DIR KERNEL
set -euo pipefail

kbench=$1 mpirun=$2 source=$3 kernel=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
export OPENBLAS_NUM_THREADS=1 OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
export OMPI_MCA_rmaps_base_oversubscribe=1

elsewhere=(unshare --uts sh -c 'hostname another-machine && exec "$@"' sh)
"${elsewhere[@]}" true 2>/dev/null || { echo "no right to a host name of its own"; exit 77; }
[[ $(hostname -I) == *.* ]] || { echo "no network address but the loopback's"; exit 77; }

printf 'batch: %s; n: 8; cond: 1; seed: %s\n' 4 5 2 6 3 7 >"$work/cases.txt"
# by_two JSON KBENCH ARGUMENTS: a rank here and one there.
by_two() {
  local json=$1
  shift
  local command=("$kbench" "$@" "$work/cases.txt" --kernel "$kernel" --device host --json "$json")
  "$mpirun" -n 1 "${command[@]}" : -n 1 "${elsewhere[@]}" "${command[@]}"
}

"$kbench" test "$work/cases.txt" --kernel "$kernel" --device host --hash-inputs \
  --json "$work/alone.json" >/dev/null
by_two "$work/both.json" test --hash-inputs >/dev/null
python3 "$source/scripts/same_results.py" --exact "$work/alone.json" "$work/both.json"

by_two "$work/together.json" benchmark --together --no-warmup --repeats 5
python3 - "$work/together.json" <<'END'
import json, sys
run = json.load(open(sys.argv[1]))
assert run["verdict"] == "pass", run["verdict"]
assert run["places"][1]["hostname"] == "another-machine", run["places"]
for case in run["cases"]:
    here, there = case["together"]["workers"]
    assert here["clock_uncertainty_ns"] == 0, here
    assert 0 < there["clock_uncertainty_ns"] < 1e9, there
    for skew, known in zip(*(case["together"]["start_skew"][key] for key in ("samples_ns", "uncertainty_ns"))):
        assert known >= there["clock_uncertainty_ns"] and skew >= 0, (skew, known)
END
