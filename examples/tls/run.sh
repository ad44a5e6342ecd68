#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Creates a test certificate authority, runs a coordinator and two workers that authenticate to each
# other by certificates and tokens, and shows which clients are accepted. Leaves nothing behind.
# CODEQ_BUILD names an existing build; without it this script builds into build/.
set -euo pipefail
cd "$(dirname "$0")/../.."

work=""
pids=()
succeeded=false

clean_up() {
  trap - EXIT
  trap '' INT TERM
  { [ ${#pids[@]} -eq 0 ] || kill -KILL "${pids[@]}" || true; wait || true; } 2>/dev/null
  if [ -n "$work" ] && ! $succeeded; then
    tail -n 20 "$work"/*.log >&2 2>/dev/null || true
  fi
  [ -z "$work" ] || rm -rf "$work"
  $succeeded || { echo "tls example: failed" >&2; exit 1; }
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

say() {
  echo "tls example: $*"
}

fail() {
  say "$*" >&2
  exit 1
}

# Creates $1.key and $1.pem, issued by the authority, with the alternative names $2.
issue() {
  openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -subj "/CN=$1" \
    -addext "subjectAltName=$2" -keyout "$work/$1.key" -out "$work/$1.csr" 2>/dev/null
  openssl x509 -req -in "$work/$1.csr" -CA "$work/ca.pem" -CAkey "$work/ca.key" -days 30 \
    -copy_extensions copy -out "$work/$1.pem" 2>/dev/null
}

# Writes a token for $1 with the given options to $1.token.
create_token() {
  "$bin/codeqctl" token create --file "$work/tokens" --subject "$@" --out "$work/$1.token"
}

# Starts `$2...` in the background with its output in $work/$1.log; its process id is in `started`.
start() {
  local name=$1
  shift
  "$@" >"$work/$name.log" 2>&1 </dev/null &
  started=$!
  pids+=("$started")
}

wait_for_file() {
  for _ in $(seq 400); do
    [ ! -s "$1" ] || return 0
    kill -0 "$2" 2>/dev/null || fail "the coordinator ended at its start"
    sleep 0.05
  done
  fail "the coordinator did not listen within 20 s"
}

start_worker() {
  start "$1" "$bin/codeq-worker" --coordinator "$address" --name "$1" \
    --handlers "$build/lib/libhello.so" --token-file "$work/worker.token" \
    --tls-ca "$work/ca.pem" --tls-cert "$work/worker.pem" --tls-key "$work/worker.key"
}

# Serial number of the certificate that the coordinator presents to a new connection.
serial_shown() {
  openssl s_client -connect "$address" -CAfile "$work/ca.pem" -cert "$work/operator.pem" \
    -key "$work/operator.key" </dev/null 2>/dev/null | openssl x509 -noout -serial
}

build=${CODEQ_BUILD:-build}
if [ -z "${CODEQ_BUILD:-}" ]; then
  ./examples/install-packages.sh
  cmake -G Ninja -S . -B "$build" >/dev/null
  ninja -C "$build" codeq-coordinator codeq-worker codeqctl hello
fi
bin=$build/bin
work=$(mktemp -d)
chmod 700 "$work"

say "makes an authority and three certificates"
openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 \
  -subj "/CN=codeq test authority" -addext "basicConstraints=critical,CA:TRUE" \
  -addext "keyUsage=critical,keyCertSign" -keyout "$work/ca.key" -out "$work/ca.pem" 2>/dev/null
issue coordinator "IP:127.0.0.1,DNS:localhost"
issue worker "DNS:worker"
issue operator "DNS:operator"

say "makes a token for each"
create_token worker --tenant default --role worker --queues hello
create_token producer --tenant default --role producer
create_token operator --tenant '*' --role admin

start coordinator "$bin/codeq-coordinator" --data "$work/data" --listen 127.0.0.1:0 \
  --port-file "$work/port" --http 127.0.0.1:0 --http-port-file "$work/http-port" \
  --tokens "$work/tokens" --tls-cert "$work/coordinator.pem" \
  --tls-key "$work/coordinator.key" --tls-ca "$work/ca.pem" --tls-require-client-cert
coordinator=$started
wait_for_file "$work/port" "$coordinator"
wait_for_file "$work/http-port" "$coordinator"
address=127.0.0.1:$(cat "$work/port")
url=https://localhost:$(cat "$work/http-port")
start_worker w1
start_worker w2

# Every option can also be set by an environment variable.
export CODEQ_COORDINATOR=$address CODEQ_TLS_CA=$work/ca.pem
export CODEQ_TLS_CERT=$work/operator.pem CODEQ_TLS_KEY=$work/operator.key
export CODEQ_TOKEN_FILE=$work/producer.token

id=$("$bin/codeqctl" enqueue hello Ada)
answer=$("$bin/codeqctl" result "$id" --wait 20s)
[ "$answer" = "hello Ada" ] || fail "the result is '$answer'"
say "a task went over TLS: $answer"

# The gateway uses the same certificate and tokens, and requests no client certificate.
over_https() {
  env CODEQ_TLS_CERT= CODEQ_TLS_KEY= "$bin/codeqctl" --http "$url" "$@"
}
id=$(over_https enqueue hello '"Edith"')
answer=$(over_https result "$id" --wait 20s)
[ "$answer" = 'hello "Edith"' ] || fail "the result is '$answer'"
say "a task went over HTTPS: $answer"

refused() {
  local why=$1 seen
  shift
  if seen=$("$@" --timeout 2s 2>&1); then
    fail "let in $why"
  fi
  say "$why is refused: ${seen#codeqctl: }"
}
refused "a producer who asks for the list" "$bin/codeqctl" list
refused "an HTTP client who does not know the authority" \
  env CODEQ_TLS_CA= "$bin/codeqctl" --http "$url" get "$id"
refused "an HTTP client without a token" \
  env CODEQ_TOKEN_FILE= "$bin/codeqctl" --http "$url" get "$id"
refused "a peer without a token" env CODEQ_TOKEN_FILE= "$bin/codeqctl" get "$id"
refused "a peer without a certificate" \
  env CODEQ_TLS_CERT= CODEQ_TLS_KEY= "$bin/codeqctl" get "$id"
refused "a peer without TLS" \
  env CODEQ_TLS_CERT= CODEQ_TLS_KEY= CODEQ_TLS_CA= "$bin/codeqctl" get "$id"

before=$(serial_shown)
issue coordinator "IP:127.0.0.1,DNS:localhost"
kill -HUP "$coordinator"
for _ in $(seq 200); do
  [ "$(serial_shown)" = "$before" ] || break
  sleep 0.05
done
[ "$(serial_shown)" != "$before" ] || fail "the new certificate is not shown"
id=$("$bin/codeqctl" enqueue hello Grace)
answer=$("$bin/codeqctl" result "$id" --wait 20s)
[ "$answer" = "hello Grace" ] || fail "the result is '$answer'"
say "the certificate was renewed without a restart: $answer"

"$bin/codeqctl" --token-file "$work/operator.token" stats >/dev/null
kill -TERM "$coordinator"
wait "$coordinator" || fail "the coordinator did not end with status 0"
succeeded=true
say "done"
