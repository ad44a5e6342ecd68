#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Unpacks the upstream source of a Debian package, from the machine's package sources.
#
#   tests/sanitize/debian-source.sh PACKAGE FOLDER
#
# PACKAGE is the name of a source package; FOLDER must not exist.
set -euo pipefail

usage="usage: debian-source.sh PACKAGE FOLDER"
package="${1:?$usage}"
folder="${2:?$usage}"
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Uses package lists of its own, with the machine's sources, so that the machine's lists do not
# change.
mkdir -p "$work/sources" "$work/lists/partial" "$work/cache/archives/partial"
for list in /etc/apt/sources.list /etc/apt/sources.list.d/*.{list,sources}; do
  [ -f "$list" ] || continue
  case "$list" in
    *.sources) sed 's/^Types:.*/Types: deb-src/' "$list" ;;
    *) sed -n -E 's/^[[:space:]]*deb(-src)?[[:space:]]/deb-src /p' "$list" | sort -u ;;
  esac >"$work/sources/${list##*/}"
done
apt=(apt-get --quiet=2 -o APT::Sandbox::User=root -o Dir::Etc::SourceList=/dev/null
  -o Dir::Etc::SourceParts="$work/sources" -o Dir::State::Lists="$work/lists"
  -o Dir::Cache="$work/cache")
"${apt[@]}" update
(cd "$work" && "${apt[@]}" source --download-only --tar-only "$package")
mkdir "$folder"
tar -xf "$work/$package"_*.orig.tar.* -C "$folder" --strip-components=1
