# SPDX-License-Identifier: Apache-2.0
"""A network of namespaces, one for each program that can be cut off, on one bridge.

The addresses are of 127.77.0.0/24, which the namespaces route to each other, so that programs take
them for loopback addresses and ask for no certificates. All that has no namespace of its own runs
in that of the bridge.
"""

import contextlib
import os
import subprocess
import sys

_VARIABLE = "CODEQ_NETWORK"
_NET = "127.77.0."
_BRIDGE = "bridge"
_INTERFACE = "eth0"


def _ip(*words, check=True):
    done = subprocess.run(["ip", *map(str, words)], capture_output=True, text=True, check=False)
    if check and done.returncode != 0:
        raise RuntimeError(f"ip {' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


def _route_loopback(space):
    """Frees 127.0.0.0/8, except for 127.0.0.1, for addresses of other interfaces."""
    _ip("netns", "exec", space, "sysctl", "-qw", "net.ipv4.conf.all.route_localnet=1")
    _ip("-n", space, "link", "set", "lo", "up")
    _ip("-n", space, "addr", "del", "127.0.0.1/8", "dev", "lo")
    _ip("-n", space, "addr", "add", "127.0.0.1/32", "dev", "lo")


class Network:
    """Nodes by their names, each with an address and with links that can be cut."""

    def __init__(self, prefix, names):
        self._prefix = prefix
        self._addresses = {name: f"{_NET}{10 + i}" for i, name in enumerate(names)}
        self.base = f"{_NET}1"

    def address(self, name):
        return self._addresses[name]

    def _space(self, name):
        return f"{self._prefix}-{name}"

    @property
    def _hub(self):
        return self._space("hub")

    def build(self):
        _ip("netns", "add", self._hub)
        _route_loopback(self._hub)
        _ip("-n", self._hub, "link", "add", _BRIDGE, "type", "bridge")
        _ip("-n", self._hub, "addr", "add", f"{self.base}/24", "dev", _BRIDGE)
        _ip("-n", self._hub, "link", "set", _BRIDGE, "up")
        for name, address in self._addresses.items():
            space = self._space(name)
            _ip("netns", "add", space)
            _route_loopback(space)
            _ip("-n", self._hub, "link", "add", name, "type", "veth", "peer", "name", _INTERFACE,
                "netns", space)
            _ip("-n", self._hub, "link", "set", name, "master", _BRIDGE, "up")
            _ip("-n", space, "addr", "add", f"{address}/24", "dev", _INTERFACE)
            _ip("-n", space, "link", "set", _INTERFACE, "up")

    def remove(self):
        for name in [*self._addresses, "hub"]:
            _ip("netns", "del", self._space(name), check=False)

    def inside(self, name, command):
        """The command that runs `command` in the node's namespace, as the same process."""
        return ["ip", "netns", "exec", self._space(name), *command]

    @contextlib.contextmanager
    def isolated(self, name):
        """Nothing arrives at the node or leaves it."""
        _ip("-n", self._hub, "link", "set", name, "nomaster")
        try:
            yield
        finally:
            _ip("-n", self._hub, "link", "set", name, "master", _BRIDGE)

    @contextlib.contextmanager
    def silenced(self, name, addresses):
        """Nothing arrives at the addresses from the node, but what they send arrives at it."""
        for address in addresses:
            _ip("-n", self._space(name), "route", "add", "blackhole", f"{address}/32")
        try:
            yield
        finally:
            for address in addresses:
                _ip("-n", self._space(name), "route", "del", "blackhole", f"{address}/32")


def _remove_left_ones():
    """A run that was killed has left its namespaces."""
    for line in _ip("netns", "list").splitlines():
        space = line.split()[0]
        owner = space.removeprefix("codeq").split("-")[0]
        if space.startswith("codeq") and owner.isdigit() and not os.path.exists(f"/proc/{owner}"):
            _ip("netns", "del", space, check=False)


def enter(names):
    """The network of these nodes. Builds it, runs this program again in it, and exits with its
    status; in that second run it returns the network."""
    if _VARIABLE in os.environ:
        return Network(os.environ[_VARIABLE], names)
    _remove_left_ones()
    network = Network(f"codeq{os.getpid()}", names)
    try:
        network.build()
        environment = {**os.environ, _VARIABLE: f"codeq{os.getpid()}"}
        command = network.inside("hub", [sys.executable, *sys.argv])
        status = subprocess.run(command, env=environment, check=False).returncode
    finally:
        network.remove()
    sys.exit(status)
