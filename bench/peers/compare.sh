#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Measures codeq and other queues in turn on this machine and prints the ratios; see compare.py.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
"$here/install-packages.sh"
exec python3 "$here/compare.py" "$@"
