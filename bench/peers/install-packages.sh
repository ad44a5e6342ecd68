#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Installs the servers that compare.sh measures, unless they are installed. The rest of codeq does
# not need them.
set -eu
export LC_ALL=C DEBIAN_FRONTEND=noninteractive
missing=""
for package in redis-server nats-server beanstalkd; do
  status=$(dpkg-query --show --showformat='${db:Status-Status}' "$package" 2>/dev/null || true)
  [ "$status" = installed ] || missing="$missing $package"
done
[ -n "$missing" ] || exit 0
if [ "$(id -u)" != 0 ]; then
  echo "install-packages: run this as root; missing packages:$missing" >&2
  exit 1
fi
apt-get update --quiet=2 </dev/null
# shellcheck disable=SC2086 # a list of words
apt-get install --yes --quiet=2 --no-install-recommends $missing </dev/null
