#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the Debian 12 packages that building, testing and running codeq needs, unless they are
# installed. This is the only list of them.
set -eu
export LC_ALL=C DEBIAN_FRONTEND=noninteractive

packages="
  g++ cmake ninja-build ccache mold
  capnproto libcapnp-dev libcaf-dev librocksdb-dev
  libspdlog-dev libfmt-dev libcli11-dev libtomlplusplus-dev libmimalloc-dev libssl-dev openssl
  libcjose-dev libxxhash-dev tzdata
  libgtest-dev libgmock-dev libbenchmark-dev libsqlite3-dev libhowardhinnant-date-dev
  libboost1.81-dev libboost-json1.81-dev prometheus-cpp-dev
  pkgconf procps python3 python3-hypothesis python3-jsonschema libfaketime valgrind curl spin
  etcd-server iproute2 chromium chromium-driver fonts-inter fonts-jetbrains-mono
  ca-certificates
"

# --fuzz adds the packages that the fuzz targets need.
[ "${1:-}" != --fuzz ] || packages="$packages clang libclang-rt-14-dev"

missing=""
for package in $packages; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
  as_root=""
elif command -v sudo >/dev/null; then
  as_root="sudo --preserve-env=DEBIAN_FRONTEND,LC_ALL"
else
  echo "install-packages: run this as root, or install sudo; missing packages:$missing" >&2
  exit 1
fi

echo "installing packages:$missing"
$as_root apt-get update --quiet=2 </dev/null

# Debian starts a daemon when its package is installed. A policy forbids that, unless this machine
# has one of its own; etcd's unit is masked, so that it does not start with the machine either.
policy=/usr/sbin/policy-rc.d
remove_policy() {
  [ -z "$own_policy" ] || $as_root rm -f "$policy"
}
own_policy=""
trap remove_policy EXIT
trap 'exit 1' INT TERM HUP
case " $missing " in
  *" etcd-server "*)
    if [ ! -e "$policy" ]; then
      own_policy=yes
      printf '#!/bin/sh\nexit 101\n' | $as_root tee "$policy" >/dev/null
      $as_root chmod 755 "$policy"
    fi
    if [ -d /run/systemd/system ]; then
      $as_root systemctl mask --quiet etcd.service
    fi
    ;;
esac
# shellcheck disable=SC2086 # both are lists of words
$as_root apt-get install --yes --quiet=2 --no-install-recommends $missing </dev/null
