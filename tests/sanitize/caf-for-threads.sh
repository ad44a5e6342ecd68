#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds CAF with ThreadSanitizer from Debian's source package, once. The packaged library would
# give false reports: the sanitizer does not see the atomics by which its actors hand messages over.
#
#   tests/sanitize/caf-for-threads.sh FOLDER
#
# FOLDER then holds include/ and lib/, to be put into CMAKE_PREFIX_PATH.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
folder="${1:?usage: caf-for-threads.sh FOLDER}"
[ ! -e "$folder/complete" ] || exit 0
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
work=$(mktemp -d "$folder/work-XXXXXX")
trap 'rm -rf "$work"' EXIT

"$here/debian-source.sh" actor-framework "$work/source"
# Later standard libraries no longer bring <limits> along.
cmake -G Ninja -S "$work/source" -B "$work/build" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_CXX_FLAGS='-fsanitize=thread -O1 -g1 -fno-omit-frame-pointer -w -include limits' \
  -DCMAKE_INSTALL_PREFIX="$folder" -DCAF_NO_UNIT_TESTS=yes -DCAF_NO_EXAMPLES=yes \
  -DCAF_NO_TOOLS=yes -DCAF_NO_OPENSSL=yes -DCAF_NO_OPENCL=yes -DCAF_NO_PYTHON=yes \
  -DCMAKE_CXX_COMPILER_LAUNCHER=ccache -DCAF_LOG_LEVEL=QUIET >"$work/configure.log" ||
  { cat "$work/configure.log" >&2; exit 1; }
ninja -C "$work/build" install >"$work/build.log" || { tail -30 "$work/build.log" >&2; exit 1; }
touch "$folder/complete"
