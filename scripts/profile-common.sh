# shellcheck shell=bash
# Shared by scripts/profile-nsys and scripts/profile-ncu: the tool, the case, the run. Sourced, not
# run. kbench itself prints the profiler's command line (`kbench profile-command`).

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root

die() {
  printf '%s: %s\n' "$(basename "$0")" "$*" >&2
  exit 2
}

# find_tool NAME ADVICE: NAME in PATH, or where the toolkit and Nsight Compute's package put it. Its
# folder is put in front of PATH.
find_tool() {
  local found
  found=$(command -v "$1") ||
    found=$(find -L /usr/local/cuda/bin /opt/nvidia -maxdepth 5 -name "$1" -type f -perm -u+x \
      -not -path '*/doc*' 2>/dev/null | sort -V | tail -n 1) || true
  [[ -n $found ]] || die "no $1 here (not in PATH, /usr/local/cuda or /opt/nvidia); $2"
  PATH=$(dirname "$found"):$PATH
}

# make_report TOOL 'CASE LINE'|FILE [kbench options]: runs the case under TOOL. Sets `report`, the
# name of the report without its suffix; what was said on the way lies beside it in run.log.
make_report() {
  local tool=$1 what=$2 kbench=${KBENCH:-$root/build/cuda/bin/kbench} folder file command
  shift 2
  [[ -x $kbench ]] || die "no kbench at $kbench; build it with \`cmake --preset cuda && cmake" \
    "--build --preset cuda\`, or name one in KBENCH"
  folder=${KBENCH_PROFILES:-profiles}/$tool-$(date +%Y%m%d-%H%M%S)
  mkdir -p "$(dirname "$folder")"
  mkdir "$folder" || die "$folder is there already; try again"
  folder=$(cd "$folder" && pwd)
  report=$folder/report
  file=$what
  if [[ ! -e $what && $what == *:* ]]; then
    file=$folder/case.txt
    printf '%s\n' "$what" >"$file"
  fi
  command=$("$kbench" profile-command "$tool" "$file" --report "$report" "$@") || exit
  printf '+ %s\n' "$command"
  eval "$command" >"$folder/run.log" 2>&1 ||
    { tail -n 20 "$folder/run.log" >&2; die "the run failed; all of it is in $folder/run.log"; }
}
