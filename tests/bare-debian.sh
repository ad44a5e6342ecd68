#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs the quickstart in a fresh Debian 12, to check that its list of packages is complete. Needs
# root and debootstrap; takes minutes. Usage: tests/bare-debian.sh
set -euo pipefail
cd "$(dirname "$0")/.."

[ "$(id -u)" = 0 ] || { echo "bare-debian: run this as root" >&2; exit 1; }
command -v debootstrap >/dev/null || { echo "bare-debian: install debootstrap" >&2; exit 1; }

root=$(mktemp -d)
clean_up() {
  ! mountpoint --quiet "$root/proc" || umount --lazy "$root/proc"
  # Do not descend into a file system that is still mounted.
  rm -rf --one-file-system "$root"
}
trap clean_up EXIT
trap 'exit 1' INT TERM HUP

debootstrap --variant=minbase bookworm "$root" >"$root.log" 2>&1 ||
  { tail "$root.log" >&2; exit 1; }
rm -f "$root.log"
# It gets its packages over the network in the same way as this machine.
for settings in /etc/apt/apt.conf.d /etc/resolv.conf /etc/hosts; do
  [ ! -e "$settings" ] || cp --recursive --dereference "$settings" "$root$(dirname "$settings")/"
done
git clone --quiet . "$root/codeq"
mount --types proc proc "$root/proc"
chroot "$root" /usr/bin/env --ignore-environment HOME=/tmp PATH=/usr/sbin:/usr/bin:/sbin:/bin \
  /codeq/examples/quickstart.sh </dev/null | tee "$root/output"
tail -n 1 "$root/output" | grep --quiet "totals equal wc$"
