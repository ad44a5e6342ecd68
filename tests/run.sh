#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Installs missing packages, builds everything, runs every test, and fuzzes the parsers of external
# input.
set -euo pipefail
cd "$(dirname "$0")/.."

usage() {
  cat <<'TEXT'
usage: tests/run.sh [option...]

Installs missing Debian packages, builds into build/, runs every test by ctest, and then each fuzz
target for 20 seconds.

  --label LABEL      run only tests with this label; may be given several times
                     (tidy unit model spin sim mutation golden integration fault kill e2e openapi)
  --sanitize KIND    build with sanitizers (address, thread, undefined or address,undefined) into
                     build-KIND/, and fail on a report of any program that a test runs; thread
                     first builds CAF and RocksDB with it, once, into a cache folder
  --soak N           run N seeds of the simulation and nothing else; CODEQ_SEED is the first one
  --soak-days N      run a shard on real files for N days of virtual time, from 23 on, and nothing
                     else; fails when disk, memory or CPU per task grow
  --soak-kill        run real programs under kill -9 and nothing else, in each durability mode,
                     and check what their clients saw; CODEQ_SEED repeats the faults of a run
  --soak-cluster     the same with three coordinators of one cluster, each in a network namespace
                     of its own; needs root
  --soak-schedules N compare ten years of N random schedules in all zones with an oracle and do
                     nothing else; CODEQ_SEED chooses other schedules
  --openapi          send random requests to a coordinator and nothing else, and check that each
                     answer is as /openapi.json says; CODEQ_SEED repeats the requests of a run
  --fuzz             run the fuzz targets and nothing else, built by clang++ into build-fuzz/
  --minutes N        how long --soak-kill and --soak-cluster disturb them in each mode, --openapi
                     sends requests, or --fuzz runs each target [default: 10, 10, 5 and 1]
  --seconds N        how long --fuzz runs each target, where a minute is too long
  --build-only       build, run nothing
  --help             this text

Environment: CODEQ_SEED=N gives the random tests another seed than the fixed one, CCACHE_DIR moves
the cache of compilations, XDG_CACHE_HOME that of CAF and RocksDB for the thread sanitizer.
Ends with 0 only when at least one test ran and all passed.
TEXT
}

fail_usage() {
  echo "run.sh: $1 (see --help)" >&2
  exit 2
}

labels=()
sanitize=""
build_only=false
soak=""
soak_days=""
soak_schedules=""
soak_kill=false
soak_cluster=false
openapi=false
fuzz=false
minutes=""
seconds=""
while [ $# -gt 0 ]; do
  case "$1" in
    --label | --sanitize | --soak | --soak-days | --soak-schedules | --minutes | --seconds)
      [ $# -ge 2 ] || fail_usage "$1 needs a value" ;;&
    --label) labels+=("$2"); shift ;;
    --sanitize) sanitize="$2"; shift ;;
    --soak) soak="$2"; shift ;;
    --soak-days) soak_days="$2"; shift ;;
    --soak-schedules) soak_schedules="$2"; shift ;;
    --soak-kill) soak_kill=true ;;
    --soak-cluster) soak_cluster=true ;;
    --openapi) openapi=true ;;
    --fuzz) fuzz=true ;;
    --minutes) minutes="$2"; shift ;;
    --seconds) seconds="$2"; shift ;;
    --build-only) build_only=true ;;
    --help) usage; exit 0 ;;
    *) fail_usage "unknown option $1" ;;
  esac
  shift
done
case "$sanitize" in
  "" | address | thread | undefined | address,undefined) ;;
  *) fail_usage "--sanitize takes a kind that it knows, not '$sanitize'" ;;
esac

case "$soak" in
  *[!0-9]*) fail_usage "--soak takes a number of seeds, not '$soak'" ;;
esac
case "$soak_days" in
  *[!0-9]*) fail_usage "--soak-days takes a number of days, not '$soak_days'" ;;
esac
case "$soak_schedules" in
  *[!0-9]* | 0*) fail_usage "--soak-schedules takes a number from 1 on, not '$soak_schedules'" ;;
esac
case "$minutes" in
  *[!0-9]* | 0*) fail_usage "--minutes takes a number from 1 on, not '$minutes'" ;;
esac

case "$seconds" in
  *[!0-9]* | 0*) fail_usage "--seconds takes a number from 1 on, not '$seconds'" ;;
esac

# Runs one target for SECONDS_MAX.
fuzz_one() {
  local log="build-fuzz/$1.log"
  "build-fuzz/bin/fuzz_$1" -max_total_time="$SECONDS_MAX" -max_len=4096 \
    -artifact_prefix="build-fuzz/$1-" -print_final_stats=1 "build-fuzz/corpus/$1" \
    >"$log" 2>&1 || { tail -50 "$log" >&2; return 1; }
  echo "fuzz_$1: $(grep '^Done ' "$log"), nothing found"
}
export -f fuzz_one

# Number of seconds for each target, of which as many run at a time as there are processors.
run_fuzz() {
  ./examples/install-packages.sh --fuzz
  cmake -G Ninja -S . -B build-fuzz -DCODEQ_FUZZ=ON -DCMAKE_C_COMPILER=clang \
    -DCMAKE_CXX_COMPILER=clang++ >/dev/null
  ninja -C build-fuzz
  python3 tests/fuzz/corpus.py build-fuzz/corpus
  printf '%s\n' frame http jwt message schedule token_file \
    | SECONDS_MAX="$1" xargs -P "$(nproc)" -I{} bash -c 'fuzz_one {}'
}

if $fuzz; then
  run_fuzz "${seconds:-$((${minutes:-1} * 60))}"
  exit 0
fi

build="build${sanitize:+-${sanitize/,/-}}"
./examples/install-packages.sh
settings=(-DCODEQ_SANITIZE="$sanitize")
if [ "$sanitize" = thread ]; then
  cache="${XDG_CACHE_HOME:-$HOME/.cache}/codeq"
  caf="$cache/caf-for-threads"
  rocksdb="$cache/rocksdb-for-threads"
  tests/sanitize/caf-for-threads.sh "$caf"
  tests/sanitize/rocksdb-for-threads.sh "$rocksdb"
  settings+=(-DCMAKE_PREFIX_PATH="$caf" -DCMAKE_BUILD_RPATH="$rocksdb/lib" -DCODEQ_BENCH=OFF)
  # For programs that a test installs elsewhere.
  export LD_LIBRARY_PATH="$caf/lib:$rocksdb/lib"
fi
cmake -G Ninja -S . -B "$build" "${settings[@]}" >"$build.configure.log" 2>&1 ||
  { cat "$build.configure.log" >&2; exit 1; }
rm -f "$build.configure.log"
targets=()
[ -z "$soak" ] || targets=(cluster_sim_test)
[ -z "$soak_days" ] || targets=(soak_days)
[ -z "$soak_schedules" ] || targets=(schedule_oracle_test)
if $soak_kill || $soak_cluster; then
  targets=(codeq-coordinator codeq-worker codeqctl kill_handlers kill_producer)
fi
! $openapi || targets=(codeq-coordinator codeqctl)
ninja -C "$build" "${targets[@]}"
if $build_only; then
  exit 0
fi

# Reports go to files, since not every test reads the output of its programs.
reports="$PWD/$build/reports"
rm -rf "$reports"
mkdir "$reports"
common="print_suppressions=0:print_stacktrace=1:log_path=$reports/report"
export ASAN_OPTIONS="$common" UBSAN_OPTIONS="$common"
export LSAN_OPTIONS="$common:suppressions=$PWD/tests/sanitize/leaks.supp"
export TSAN_OPTIONS="$common:exitcode=66"

# Runs a command; fails if it fails, or if a program that it ran wrote a report.
watched() {
  local status=0
  "$@" || status=$?
  local found
  found=$(find "$reports" -type f | wc -l)
  if [ "$found" -gt 0 ]; then
    cat "$reports"/* >&2
    echo "run.sh: $found reports of sanitizers, in $reports" >&2
    status=1
  fi
  return $status
}

if [ -n "$soak" ]; then
  export CODEQ_SIM_SEEDS="$soak"
  watched "$build/bin/tests/cluster_sim_test" --gtest_filter='*ContractHoldsUnderEveryScenario'
  exit 0
fi

if [ -n "$soak_days" ]; then
  watched "$build/bin/tests/soak_days" "$soak_days"
  exit 0
fi

if [ -n "$soak_schedules" ]; then
  export CODEQ_SCHEDULES="$soak_schedules"
  watched "$build/bin/tests/schedule_oracle_test" --gtest_filter='*TenYears*'
  exit 0
fi

if $soak_kill || $soak_cluster; then
  export CODEQ_BUILD="$PWD/$build" PYTHONDONTWRITEBYTECODE=1
  harness=tests/kill/harness.py
  ! $soak_cluster || harness=tests/kill/cluster_harness.py
  for durability in sync os; do
    watched python3 "$harness" --minutes "${minutes:-10}" --durability "$durability" \
      ${CODEQ_SEED:+--seed "$CODEQ_SEED"}
  done
  exit 0
fi

if $openapi; then
  export CODEQ_BUILD="$PWD/$build" PYTHONDONTWRITEBYTECODE=1
  watched /usr/bin/python3 tests/openapi/fuzz.py --seconds $((${minutes:-5} * 60)) \
    --seed "${CODEQ_SEED:-$RANDOM}"
  exit 0
fi

# Tests that measure times (kill, some of e2e) are marked RUN_SERIAL: they have the machine alone.
# Others take halves of a processor, as tests/CMakeLists.txt says.
cd "$build"
chosen=$(IFS='|'; echo "${labels[*]:-.*}")
watched ctest --output-on-failure --no-tests=error -j "$((2 * $(nproc)))" -L "^($chosen)\$" \
  </dev/null
if [ ${#labels[@]} -eq 0 ] && [ -z "$sanitize" ]; then
  cd ..
  run_fuzz "${seconds:-20}"
fi
