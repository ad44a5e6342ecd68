# SPDX-License-Identifier: Apache-2.0
"""A disk for one program, whose size changes: a file system in memory. Needs root, and a mount
namespace that ends with this program, as `ip netns exec` makes one."""

import os
import subprocess

MEBIBYTE = 1 << 20
ATTEMPTS = 20


class OwnDisk:
    """Mounted at `path`, which it creates."""

    def __init__(self, path, size):
        path.mkdir()
        self._path = path
        self._size = size
        self._mount("-t", "tmpfs", "-o", f"size={size}", "tmpfs")

    def _mount(self, *options):
        subprocess.run(["mount", *options, self._path], check=True)

    def fill(self, leave_bytes):
        """Makes the disk so small that so many bytes are free, until `free` is called."""
        # Something may be written before the disk is smaller, which fails when it has more by then.
        for left in reversed(range(ATTEMPTS)):
            now = os.statvfs(self._path)
            used = (now.f_blocks - now.f_bfree) * now.f_frsize
            try:
                return self._mount("-o", f"remount,size={used + max(leave_bytes, MEBIBYTE)}")
            except subprocess.CalledProcessError:
                if left == 0:
                    raise

    def free(self):
        self._mount("-o", f"remount,size={self._size}")

    def close(self):
        subprocess.run(["umount", "--lazy", self._path], check=True)
