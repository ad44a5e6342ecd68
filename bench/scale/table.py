# SPDX-License-Identifier: Apache-2.0
"""Prints one table of how full cycles scale: shards, workers and payloads vary one after the other
around their defaults, each with batches of 1 and 64 and with both durabilities. Every rate is from
one run: compare neighbours, and repeat the run before you trust a small difference."""

import argparse
import json
import os
import pathlib
import subprocess
import sys

PROGRAM = pathlib.Path(os.environ.get("CODEQ_BUILD", "build")).resolve() / "bin/codeq-bench"
USUAL = {"shards": 4, "workers": 2, "payload": 256}
VARIED = {"shards": (1, 2, 4), "workers": (1, 2, 4), "payload": (64, 1024, 16_384, 262_144)}
COLUMNS = [(durability, batch) for durability in ("os", "sync") for batch in (1, 64)]
# Limits the time of runs with large payloads and with small batches.
RUN_BYTES_MAX = 256 << 20
TASKS_PER_BATCH_OF_1 = 5
RUN_MAX_S = 600


def rate(tasks, batch, durability, settings):
    """Tasks per second and microseconds of CPU per task; None when the run failed."""
    tasks = min(tasks, RUN_BYTES_MAX // max(settings["payload"], 1))
    tasks = max(tasks // (TASKS_PER_BATCH_OF_1 if batch == 1 else 1), 100)
    # A request is at most 16 MiB.
    batch = min(batch, max((8 << 20) // settings["payload"], 1))
    words = [PROGRAM, "cycle", "--durability", durability, "--batch", batch, "--tasks", tasks]
    for name, value in settings.items():
        words += [f"--{name}", value]
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True,
                          timeout=RUN_MAX_S, check=False)
    if done.returncode != 0:
        print(f"table: {' '.join(str(word) for word in words)}: {done.stderr}", file=sys.stderr)
        return None
    figures = json.loads(done.stdout)
    return figures["tasks_per_s"], figures["cpu_us_per_task"]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split(". ", maxsplit=1)[0])
    parser.add_argument("--tasks", type=int, default=200_000, help="of a run; default: 200000")
    wanted = parser.parse_args()
    heads = [f"{durability}, batch {batch}" for durability, batch in COLUMNS]
    print("Tasks per second (microseconds of CPU per task); otherwise "
          + ", ".join(f"{name} {value}" for name, value in USUAL.items()) + "\n")
    print(f"| varied | {' | '.join(heads)} |")
    print("|---|" + "---|" * len(heads))
    for name, values in VARIED.items():
        for value in values:
            cells = []
            for durability, batch in COLUMNS:
                found = rate(wanted.tasks, batch, durability, {**USUAL, name: value})
                cells.append(f"{found[0]:,.0f} ({found[1]:.1f})" if found else "failed")
            print(f"| {name} {value} | {' | '.join(cells)} |", flush=True)


if __name__ == "__main__":
    main()
