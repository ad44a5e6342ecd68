#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds codeq, counts the words of real files on two worker nodes, kills one of them midway with
# SIGKILL, and checks the results against wc. Leaves no process and no directory behind.
# CODEQ_BUILD names an existing build; without it this script builds into build/.
set -euo pipefail
cd "$(dirname "$0")/.."

build=${CODEQ_BUILD:-build}
bin=$build/bin
work=""
pids=()
succeeded=false

# Ends running processes and removes the temporary directory; after a failure it shows the ends of
# the logs.
clean_up() {
  trap - EXIT
  trap '' INT TERM
  { [ ${#pids[@]} -eq 0 ] || kill -KILL "${pids[@]}" || true; wait || true; } 2>/dev/null
  if [ -n "$work" ]; then
    if ! $succeeded; then
      tail -n 20 "$work"/*.log >&2 2>/dev/null || true
    fi
    rm -rf "$work"
  fi
  if ! $succeeded; then
    echo "quickstart: failed" >&2
    exit 1
  fi
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

say() {
  echo "quickstart: $*"
}

fail() {
  say "$*" >&2
  exit 1
}

# Starts `$2...` in the background with its output in $work/$1.log; the process id is left in
# `started`.
start() {
  local name=$1
  shift
  "$@" >"$work/$name.log" 2>&1 </dev/null &
  started=$!
  pids+=("$started")
}

start_worker() {
  start "$1" "$bin"/codeq-worker --coordinator "$address" --name "$1" \
    --handlers "$build/lib/libwordcount.so" --slots 4
}

wait_for_file() {
  for _ in $(seq 200); do
    [ ! -s "$1" ] || return 0
    kill -0 "$2" 2>/dev/null || fail "the coordinator ended at its start"
    sleep 0.05
  done
  fail "the coordinator did not listen within 10 s"
}

# Waits for process $1 and removes it from the list of processes to kill; returns its exit status.
collect() {
  local status=0 kept=() pid
  wait "$1" 2>/dev/null || status=$?
  for pid in "${pids[@]}"; do
    [ "$pid" = "$1" ] || kept+=("$pid")
  done
  pids=("${kept[@]}")
  return "$status"
}

# Stops process $1 with SIGTERM; its exit status must be 0.
stop() {
  kill -TERM "$1"
  collect "$1" || fail "process $1 did not end with status 0 after SIGTERM"
}

work=$(mktemp -d)
if [ -z "${CODEQ_BUILD:-}" ]; then
  say "installing what is missing and building"
  ./examples/install-packages.sh
  cmake -G Ninja -S . -B "$build" >"$work/configure.log" 2>&1 || fail "configuring failed"
  ninja -C "$build" codeq-coordinator codeq-worker wordcount count_files
fi

say "starting a coordinator with its store in $work/store"
start coordinator "$bin"/codeq-coordinator --dev --data "$work/store" --listen 127.0.0.1:0 \
  --port-file "$work/port"
coordinator=$started
wait_for_file "$work/port" "$coordinator"
address=127.0.0.1:$(cat "$work/port")

find -L /usr/share/common-licenses /usr/share/doc -maxdepth 2 -type f \
  \( -path '/usr/share/common-licenses/*' -o -name copyright \) >"$work/paths"
files=$(wc -l <"$work/paths")

say "enqueueing $files files for worker w2"
start_worker w2
w2=$started
mkfifo "$work/results"
timeout 120 "$bin"/examples/count_files "$address" <"$work/paths" >"$work/results" \
  2>"$work/count_files.log" &
producer=$!
pids+=("$producer")

# w2 runs alone until its first result, so that it holds tasks when it is killed.
ended=0
while read -r line; do
  echo "$line" >>"$work/counted"
  ended=$((ended + 1))
  if [ "$ended" -eq 1 ]; then
    say "starting worker w1"
    start_worker w1
    w1=$started
  elif [ "$ended" -eq $((files / 3)) ]; then
    say "killing worker w2 with SIGKILL after $ended files"
    { kill -KILL "$w2"; collect "$w2" || true; } 2>/dev/null
  fi
done <"$work/results"
collect "$producer" || fail "not every file was counted: $(tail -n 1 "$work/counted")"

say "comparing with wc"
tr '\n' '\0' <"$work/paths" | LC_ALL=C wc --files0-from=- | awk '{ $1 = $1; print }' |
  sort >"$work/expected"
summary=$(tail -n 1 "$work/counted")
sed '$d' "$work/counted" | sort >"$work/actual"
diff "$work/expected" "$work/actual" >"$work/differences.log" || fail "the counts differ from wc's"
redelivered=$(sed -n 's/.* \([0-9]*\) redelivered$/\1/p' <<<"$summary")
[ "$redelivered" -ge 1 ] || fail "no task was redelivered"

say "stopping"
stop "$w1"
stop "$coordinator"
succeeded=true
clean_up
say "$summary" | sed 's/$/, totals equal wc/'
