# shellcheck shell=bash
# Shared set-up of scripts/kbench and scripts/test: the distribution's packages, which preset, the
# build. Sourced, not run. Everything is said on stderr; stdin is left to the caller's program.

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
readonly root
readonly oldest_cuda=12 # the first nvcc that knows C++20
# shellcheck disable=SC2034  # for the scripts that source this one
readonly build_packages=(build-essential cmake ninja-build libcli11-dev libfmt-dev
  nlohmann-json3-dev libyaml-cpp-dev liblapacke-dev libopenblas-dev)

# Not needed: ranks of `mpirun -n R kbench` are built where MPI is found. CI installs them.
# shellcheck disable=SC2034
readonly mpi_packages=(libopenmpi-dev openmpi-bin)

say() { printf 'kbench: %s\n' "$*" >&2; }

die() {
  say "$*"
  exit 2
}

has_command() { command -v "$1" >/dev/null 2>&1; }

# Those of the given packages that are installed, one a line.
installed() {
  dpkg-query -W -f='${db:Status-Status} ${Package}\n' "$@" 2>/dev/null | sed -n 's/^installed //p'
}

# A tool that came from elsewhere is as good as its package.
is_provided() {
  case $1 in
    build-essential) has_command c++ && has_command make ;;
    cmake) cmake_is_recent ;;
    ninja-build) has_command ninja ;;
    clang-format-14) has_command clang-format-14 ;;
    chromium-headless-shell) [[ -n ${KBENCH_BROWSER-} ]] || has_command chromium || has_command google-chrome ;;
    *) false ;;
  esac
}

cmake_is_recent() {
  local version
  version=$(cmake --version 2>/dev/null | sed -nE '1s/.* ([0-9]+\.[0-9]+).*/\1/p') || return 1
  [[ -n $version && $(printf '3.24\n%s\n' "$version" | sort -V | head -n 1) == 3.24 ]]
}

# as_root COMMAND...: runs it as root, through sudo where that can work.
as_root() {
  if ((EUID == 0)); then
    "$@" >&2 </dev/null
  else
    sudo "$@" >&2
  fi
}

can_be_root() {
  ((EUID == 0)) || { has_command sudo && { sudo -n true 2>/dev/null || [[ -t 0 ]]; }; }
}

# install_packages NAME...: installs those that are missing; runs nothing when none is.
install_packages() {
  local package present missing=()
  if ! has_command dpkg-query; then
    say "no dpkg here (packages are only installed on Debian and Ubuntu); needed are: $*"
    return
  fi
  present=$(installed "$@") || true # dpkg-query fails when it knows nothing of one of them
  for package in "$@"; do
    grep -qx "$package" <<<"$present" || is_provided "$package" || missing+=("$package")
  done
  ((${#missing[@]})) || return 0
  if ! can_be_root; then
    die "packages are missing (${missing[*]}) and there is neither root nor sudo to install them;" \
      "run as root: apt-get update && apt-get install -y --no-install-recommends ${missing[*]}"
  fi
  say "installing ${missing[*]}"
  as_root apt-get update -q || say "apt-get update failed; trying with the lists that are there"
  as_root env DEBIAN_FRONTEND=noninteractive \
    apt-get install -q -y --no-install-recommends "${missing[@]}" ||
    die "apt-get could not install ${missing[*]} (its words are above); install them and try again"
}

# install_if_known NAME...: installs those that this distribution has; without the others, or without
# the right to install, some tests are skipped.
install_if_known() {
  local package
  for package in "$@"; do
    [[ -n $(installed "$package") ]] && continue
    is_provided "$package" && continue
    if ! has_command apt-cache || ! apt-cache show "$package" >/dev/null 2>&1; then
      say "no package $package here: the tests that need it are skipped"
    elif ! can_be_root; then
      say "no root to install $package: the tests that need it are skipped"
    else
      (install_packages "$package") || say "the tests that need $package are skipped"
    fi
  done
}

has_gpu() {
  compgen -G '/proc/driver/nvidia/gpus/*' >/dev/null || nvidia-smi -L 2>/dev/null | grep -q '^GPU'
}

cuda_major() { nvcc --version 2>/dev/null | sed -nE 's/.*release ([0-9]+)\..*/\1/p'; }

# Sets `preset` to cuda where a usable nvcc is found, else to host. KBENCH_PRESET wins.
choose_preset() {
  local major
  if ! has_command nvcc && [[ -x /usr/local/cuda/bin/nvcc ]]; then
    export PATH=$PATH:/usr/local/cuda/bin
  fi
  if [[ -n ${KBENCH_PRESET-} ]]; then
    preset=$KBENCH_PRESET
    return
  fi
  major=$(cuda_major) || major=''
  if [[ -n $major ]] && ((major >= oldest_cuda)); then
    preset=cuda
    return
  fi
  preset=host
  if has_gpu; then
    say "an NVIDIA GPU but no nvcc of CUDA $oldest_cuda or later: building for the host only;" \
      "install NVIDIA's package cuda-toolkit-13-0 (https://developer.nvidia.com/cuda-downloads)"
  fi
}

# The GPU's own architecture, Hopper with what it alone has.
gpu_architectures() {
  nvidia-smi --query-gpu=compute_cap --format=csv,noheader 2>/dev/null |
    sed -nE 's/^([0-9]+)\.([0-9])$/\1\2/p' | sed 's/^90$/90a/' | sort -u | paste -sd ';'
}

# configure_once TESTS: configures build/<preset> where that has not happened with TESTS (ON or OFF)
# yet. ON covers OFF: the tests are then there and not built by scripts/kbench.
configure_once() {
  local tests=$1 language architectures options=()
  local cache=$root/build/$preset/CMakeCache.txt
  if [[ -f $root/build/$preset/build.ninja ]]; then
    [[ $tests == OFF ]] && return
    grep -q '^KBENCH_TESTS:[A-Z]*=ON' "$cache" && return
  fi
  options+=("-DKBENCH_TESTS=$tests")
  if has_command ccache; then
    for language in C CXX CUDA; do options+=("-DCMAKE_${language}_COMPILER_LAUNCHER=ccache"); done
  fi
  architectures=$(gpu_architectures) || architectures=''
  if [[ $preset == cuda && -n $architectures ]]; then
    options+=("-DCMAKE_CUDA_ARCHITECTURES=$architectures")
  fi
  (cd "$root" && cmake --preset "$preset" "${options[@]}") >&2 </dev/null 9>&- ||
    die "cmake could not configure build/$preset (its words are above); correct that or remove the folder"
}

# build TESTS [TARGET...]: brings build/<preset> up to date; silent when it is.
build() {
  local tests=$1
  shift
  mkdir -p "$root/build"
  (
    # One build at a time, however many runs are started at once.
    flock -n 9 || { say "waiting for another build of this tree (build/.lock)" && flock 9; }
    configure_once "$tests"
    ninja -C "$root/build/$preset" "$@" 2>&1 </dev/null 9>&- |
      sed -u -E '/ninja: (no work to do|Entering directory)|Re-checking globbed directories/d' >&2 ||
      die "the build failed (the compiler's words are above); correct the source and try again"
  ) 9>"$root/build/.lock" || exit
}
