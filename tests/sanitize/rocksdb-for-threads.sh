#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Builds RocksDB with ThreadSanitizer from Debian's source package, once. The packaged library would
# give false reports: the sanitizer does not see the atomics by which its threads hand memory over.
# To suppress whatever passes through it would also hide races of what it calls: filters, listeners.
#
#   tests/sanitize/rocksdb-for-threads.sh FOLDER
#
# FOLDER then holds lib/, to be put into CMAKE_BUILD_RPATH: programs are compiled and linked with
# the packaged library, and load this one, which is of the same version.
set -euo pipefail

here=$(cd "$(dirname "$0")" && pwd)
folder="${1:?usage: rocksdb-for-threads.sh FOLDER}"
[ ! -e "$folder/complete" ] || exit 0
mkdir -p "$folder"
folder=$(cd "$folder" && pwd)
work=$(mktemp -d "$folder/work-XXXXXX")
trap 'rm -rf "$work"' EXIT

"$here/debian-source.sh" rocksdb "$work/source"
# Sources are compiled several at once, which takes less time. LZ4 is the only compression that a
# store uses. Our classes derive from RocksDB's, so it needs type information.
cmake -G Ninja -S "$work/source" -B "$work/build" -DCMAKE_BUILD_TYPE=RelWithDebInfo \
  -DCMAKE_CXX_FLAGS='-fsanitize=thread -O1 -g1 -fno-omit-frame-pointer -w' \
  -DCMAKE_CXX_FLAGS_RELWITHDEBINFO=-DNDEBUG \
  -DCMAKE_UNITY_BUILD=ON -DCMAKE_UNITY_BUILD_BATCH_SIZE=12 \
  -DUSE_RTTI=1 -DPORTABLE=ON -DFAIL_ON_WARNINGS=OFF -DWITH_LZ4=ON -DWITH_GFLAGS=OFF \
  -DWITH_LIBURING=OFF -DWITH_TESTS=OFF -DWITH_ALL_TESTS=OFF -DWITH_BENCHMARK_TOOLS=OFF \
  -DWITH_CORE_TOOLS=OFF -DWITH_TOOLS=OFF -DWITH_TRACE_TOOLS=OFF \
  -DCMAKE_CXX_COMPILER_LAUNCHER=ccache >"$work/configure.log" 2>&1 ||
  { cat "$work/configure.log" >&2; exit 1; }
ninja -C "$work/build" rocksdb-shared >"$work/build.log" ||
  { tail -30 "$work/build.log" >&2; exit 1; }
mkdir -p "$folder/lib"
cp -a "$work"/build/librocksdb.so.*.*.* "$folder/lib"
# Programs look for the packaged library by two numbers of its version.
for library in "$work"/build/librocksdb.so.*.*.*; do
  name=${library##*/}
  ln -sf "$name" "$folder/lib/${name%.*}"
done
touch "$folder/complete"
