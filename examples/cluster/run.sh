#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Starts an etcd, three coordinators that keep two copies of each shard, and four workers, counts
# the words of real files, kills a coordinator midway, brings it back, moves a shard, drains a
# coordinator, and checks every result against wc. Leaves no process and no directory behind.
# CODEQ_BUILD names an existing build; without it this script builds into build/.
set -euo pipefail
cd "$(dirname "$0")/../.."

build=${CODEQ_BUILD:-build}
bin=$build/bin
work=""
succeeded=false
declare -A pids=()

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
  $succeeded || { echo "cluster: failed" >&2; exit 1; }
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

say() {
  echo "cluster: $*"
}

fail() {
  say "$*" >&2
  exit 1
}

# Starts `$2...` in the background as process $1, with its output in $work/$1.log.
start() {
  local name=$1
  shift
  "$@" >>"$work/$name.log" 2>&1 </dev/null &
  pids[$name]=$!
}

# Waits until process $1 has ended, and returns its exit status.
collect() {
  local status=0
  wait "${pids[$1]}" 2>/dev/null || status=$?
  unset "pids[$1]"
  return "$status"
}

# A port that no process of this machine has. It is below those that Linux gives to sockets that ask
# for any, so that nothing else gets it before the coordinators start.
free_port() {
  python3 -c 'import random, socket
while True:
    port = random.randint(10000, 29999)
    with socket.socket() as probe:
        try:
            probe.bind(("", port))
            break
        except OSError:
            pass
print(port)'
}

host() {
  echo "127.0.0.${1#c}"
}

start_coordinator() {
  start "$1" "$bin/codeq-coordinator" --dev --data "$work/store-$1" \
    --listen "$(host "$1"):$port" --http "$(host "$1"):$http_port" \
    --cluster example --etcd "http://127.0.0.1:$etcd_port" --replicas 2 --shards 12 \
    --node "$1" --zone "zone-$1"
}

ctl() {
  "$bin/codeqctl" --coordinator "$addresses" "$@"
}

# Waits until every shard answers coordinator $1; fails after 30 s.
await_ready() {
  for _ in $(seq 300); do
    ! curl -fsS -o "$work/ready" "http://$(host "$1"):$http_port/readyz" 2>"$work/curl" ||
      return 0
    sleep 0.02
  done
  fail "not every shard is served: $(curl -sS "http://$(host "$1"):$http_port/readyz")"
}

# Waits until no shard waits for anything.
await_whole() {
  for _ in $(seq 150); do
    ctl --json cluster status >"$work/status" 2>"$work/ctl.log" || true
    ! grep -q shards "$work/status" || grep -q '"waits_for":"[^"]' "$work/status" || return 0
    sleep 0.2
  done
  fail "copies are missing: $(ctl cluster status)"
}

now_ms() {
  date +%s%3N
}

work=$(mktemp -d)
if [ -z "${CODEQ_BUILD:-}" ]; then
  say "installing what is missing and building"
  ./examples/install-packages.sh
  cmake -G Ninja -S . -B "$build" >"$work/configure.log" 2>&1 || fail "configuring failed"
  ninja -C "$build" codeq-coordinator codeq-worker codeqctl wordcount count_files
elif ! command -v etcd >/dev/null; then
  ./examples/install-packages.sh
fi

etcd_port=$(free_port)
peer_port=$(free_port)
port=$(free_port)
http_port=$(free_port)
addresses=127.0.0.1:$port,127.0.0.2:$port,127.0.0.3:$port
say "starting etcd, three coordinators and four workers in $work"
start etcd etcd --name e --data-dir "$work/etcd" \
  --listen-client-urls "http://127.0.0.1:$etcd_port" \
  --advertise-client-urls "http://127.0.0.1:$etcd_port" \
  --listen-peer-urls "http://127.0.0.1:$peer_port" \
  --initial-advertise-peer-urls "http://127.0.0.1:$peer_port" \
  --initial-cluster "e=http://127.0.0.1:$peer_port"
for name in c1 c2 c3; do
  start_coordinator "$name"
done
# One address is enough for a worker: it learns the others.
for name in w1 w2 w3 w4; do
  start "$name" "$bin/codeq-worker" --coordinator "127.0.0.1:$port" --name "$name" \
    --handlers "$build/lib/libwordcount.so" --slots 2
done
await_ready c1
await_whole
ctl cluster status

find -L /usr/share/common-licenses /usr/share/doc -maxdepth 2 -type f \
  \( -path '/usr/share/common-licenses/*' -o -name copyright \) >"$work/files"
for _ in 1 2 3 4 5 6; do
  cat "$work/files"
done >"$work/paths"
tasks=$(wc -l <"$work/paths")

say "enqueueing $tasks tasks"
mkfifo "$work/results"
timeout 240 "$bin/examples/count_files" "127.0.0.1:$port" "127.0.0.3:$port" <"$work/paths" \
  >"$work/results" 2>"$work/count_files.log" &
pids[producer]=$!
ended=0
failover=0
while read -r line; do
  echo "$line" >>"$work/counted"
  ended=$((ended + 1))
  if [ "$ended" -eq $((tasks / 4)) ]; then
    say "killing coordinator c2 with SIGKILL after $ended tasks"
    began=$(now_ms)
    { kill -KILL "${pids[c2]}"; collect c2 || true; } 2>/dev/null
    await_ready c1
    failover=$(($(now_ms) - began))
    say "its shards are served by others after $failover ms; starting it again"
    start_coordinator c2
    await_whole
  elif [ "$ended" -eq $((tasks / 2)) ]; then
    shard=0
    target=$(ctl --json cluster status | python3 -c 'import json, sys
shard = json.load(sys.stdin)["shards"][0]
print(next(copy["node"] for copy in shard["copies"] if copy["node"] != shard["primary"]))')
    say "moving shard $shard to $target"
    ctl cluster move "$shard" --to "$target" >"$work/moved"
  elif [ "$ended" -eq $((3 * tasks / 4)) ]; then
    say "draining c3, then stopping it"
    ctl cluster drain c3 --wait 60s >"$work/drained"
    kill -TERM "${pids[c3]}"
    collect c3 || fail "c3 did not end with status 0 after SIGTERM"
  fi
done <"$work/results"
collect producer || fail "not every task was completed: $(tail -n 1 "$work/counted")"
ctl cluster status

say "comparing with wc"
sed '$d' "$work/counted" | sed '$d' | sort >"$work/actual"
tr '\n' '\0' <"$work/files" | LC_ALL=C wc --files0-from=- | sed '$d' | awk '{ $1 = $1; print }' |
  sort >"$work/once"
for _ in 1 2 3 4 5 6; do
  cat "$work/once"
done | sort >"$work/expected"
lost=$(comm -23 "$work/expected" "$work/actual" | wc -l)
doubled=$(comm -13 "$work/expected" "$work/actual" | wc -l)
completed=$(wc -l <"$work/actual")
[ "$lost" -eq 0 ] && [ "$doubled" -eq 0 ] || fail "$lost tasks are lost, $doubled doubled or wrong"

say "stopping"
for name in w1 w2 w3 w4 c1 c2; do
  kill -TERM "${pids[$name]}"
  collect "$name" || fail "$name did not end with status 0 after SIGTERM"
done
succeeded=true
clean_up
say "$tasks tasks, $completed completed, $lost lost, $doubled doubled, fail-over $failover ms"
