# SPDX-License-Identifier: Apache-2.0
"""Which file may include which: dependencies point down, and each library is confined to some
places."""

import posixpath
import re

# The headers of include/codeq that are vocabulary; the others are facades.
VOCABULARY = {"bytes", "cluster_status", "fwd", "ids", "limits", "operator_types", "queue",
              "result", "schedule", "task", "task_limits", "time"}

# Folder of libcodeq/src -> folders below it that it may include, besides itself and vocabulary.
BELOW = {
    "base": set(),
    "core": {"base", "schedule"},
    "config": {"base"},
    "observe": {"base"},
    "security": {"base"},
    "replication": {"base"},
    "schedule": {"base"},
    "etcd": {"base", "security"},
    "cluster": {"base", "replication", "etcd"},
    "encoding": {"base", "schedule", "core"},
    "protocol": {"base", "schedule", "core", "encoding", "replication", "cluster"},
    "storage": {"base", "schedule", "core", "encoding", "replication"},
    "maintenance": {"base", "schedule", "core", "replication", "storage"},
    "actors": {"base", "schedule", "core", "security", "protocol", "storage"},
    "transport": {"base", "schedule", "observe", "security", "protocol", "actors"},
}
_UP_TO_TRANSPORT = set(BELOW) - {"maintenance"}
BELOW["coordinator"] = _UP_TO_TRANSPORT
BELOW["worker"] = _UP_TO_TRANSPORT
BELOW["client"] = _UP_TO_TRANSPORT - {"storage"}
BELOW["http"] = _UP_TO_TRANSPORT | {"coordinator", "worker", "client"}
BELOW["testing"] = _UP_TO_TRANSPORT | {"coordinator", "worker", "client"}
BELOW["node"] = _UP_TO_TRANSPORT | {"coordinator", "worker", "client", "http"}

# Layer -> its contents.
CONTENTS = {
    "base": "assertions, clocks, ids and errors as text",
    "core": "the state machine of a shard, pure and deterministic",
    "config": "options of the programs",
    "observe": "the log, the metrics",
    "security": "tokens, JWTs and their rights, rate limits, TLS contexts",
    "etcd": "a client of etcd",
    "cluster": "records in etcd, placement of replicas, the map, a coordinator's membership",
    "replication": "replicas of a shard, elections, the primary's side, pure",
    "schedule": "rules of schedules, zones, which occurrences fire, pure",
    "encoding": "structs that messages and records share",
    "protocol": "frames, conversion and validation of messages",
    "storage": "keys, records, stores, recovery",
    "maintenance": "verifies and restores a store that is not open",
    "actors": "actor interfaces of transport, worker and clients",
    "transport": "connections: brokers, hello, TLS, links",
    "coordinator": "shard, journal, reader, session, registrar as classes; their actors",
    "worker": "dispatcher, handlers, child processes",
    "client": "producer and operator",
    "http": "the HTTP gateway and webhooks",
    "testing": "handlers under a virtual clock, for tests",
    "node": "the public facades",
}

# Layer -> its rooms. A room may include the rooms before it. Files of the layer outside of its
# rooms are below all of them.
ROOMS = {
    "core": ("commands", "blocks", "flow", "tables", "state", "queues", "checks", "turn"),
    "storage": ("keys", "records", "retention", "memory", "rocksdb", "recovery", "replica"),
    "cluster": ("backup",),
    "client": ("inquiry",),
    "node": ("clients",),
    "coordinator": ("shard", "store", "replica", "session", "shared", "actors", "hub"),
    "worker": ("handlers", "node", "process", "host"),
    "http": ("server", "json", "claims", "desk", "webhooks", "wakeups", "operations", "dashboard",
             "routes", "gateway"),
}

# Library -> paths that may use it. Tests and benches may use any.
PLACES = {
    "CAF": r"src/(actors|transport|worker/(?:handlers|host)|client|node|http|testing"
           r"|coordinator/(?:actors|hub))/"
           r"|codeq/actor_handler\.hpp|examples/",
    "CAF io": r"src/(transport|node|actors)/",
    "Cap'n Proto": r"src/(encoding|protocol|actors|transport|coordinator|worker|client|http|node)/"
                   r"|src/storage/records/",
    "RocksDB": r"src/storage/rocksdb/rocksdb_(?!store\.hpp)\w+\.[ch]pp",
    "spdlog": r"src/observe/",
    "prometheus-cpp": r"src/observe/",
    "CLI11": r"src/config/",
    "toml++": r"src/config/",
    "OpenSSL": r"src/(security|etcd|transport|http)/",
    "cjose": r"src/security/",
    "Boost": r"src/(http|security|etcd|cluster)/|codeq/json_codec\.hpp|examples/",
}
_LIBRARIES = [
    ("CAF io", r"caf/io/"), ("CAF", r"caf/"), ("Cap'n Proto", r"(capnp|kj)/|.*\.capnp\.h$"),
    ("RocksDB", r"rocksdb/"), ("spdlog", r"(spdlog|fmt)/"), ("prometheus-cpp", r"prometheus/"),
    ("CLI11", r"CLI/"), ("toml++", r"toml"), ("OpenSSL", r"openssl/"), ("cjose", r"cjose/"),
    ("Boost", r"boost/"),
]
# Rooms of classes that are driven by others: they use no actor, log, clock or thread.
_DRIVEN = (r"libcodeq/src/((coordinator/(shard|session|store|replica)|worker/node|http/claims"
           r"|replication)/|schedule/(?!zone_store))")
_DRIVERS = {"actors", "transport", "observe"}
# Public headers that include actors.
_ACTOR_HEADERS = {"codeq/actor_handler.hpp"}
# The core is pure; clocks, randomness, threads and files belong to its callers.
_IMPURE = {"thread", "mutex", "shared_mutex", "condition_variable", "atomic", "future", "random",
           "fstream", "iostream", "filesystem", "stdexcept", "exception"}
_CLOCK = r"\b\w*clock\w*::now\s*\("
_INCLUDE = r"^[ \t]*#[ \t]*include[ \t]+([<\"])([^>\"]+)[>\"]"


def library_of(header):
    """The third-party library of an included path, or None for std and the system."""
    return next((name for name, pattern in _LIBRARIES if re.match(pattern, header)), None)


def _layer_of(path):
    match = re.match(r"libcodeq/src/([a-z_]+)/", path)
    return match.group(1) if match else None


def _room_problem(path, header):
    """Why a header of the same layer may not be included from this room; None when it may."""
    layer, _, rest = path.removeprefix("libcodeq/src/").partition("/")
    rooms = ROOMS.get(layer, ())
    own, other = rest.split("/")[0], header.split("/")[1]
    if "/" not in rest:
        return f"{layer} itself may not use its room {other}" if other in rooms else None
    if own not in rooms:
        return f"name the room {own} of {layer} in tests/tidy/layering.py"
    too_high = other in rooms and rooms.index(other) > rooms.index(own)
    return f"{layer}/{own} may not use {layer}/{other}" if too_high else None


def _own_problem(path, header):
    """Why a project header may not be included from here; None when it may."""
    folder, layer = header.split("/")[0], _layer_of(path)
    if re.match(_DRIVEN, path) and header in _ACTOR_HEADERS:
        return f"a class that is driven may not use {header}"
    if folder == "codeq":
        name = posixpath.splitext(posixpath.basename(header))[0]
        low = layer in ("base", "core", "observe", "protocol", "storage")
        return f"{layer} may use vocabulary only" if low and name not in VOCABULARY else None
    if re.match(_DRIVEN, path) and (folder in _DRIVERS or "/actors/" in header):
        return f"a class that is driven may not use {posixpath.dirname(header)}"
    if layer and folder == layer:
        return _room_problem(path, header)
    if layer:
        fits = folder in BELOW.get(layer, set())
        return None if fits else f"{layer} may not use {folder}"
    if path.startswith("libcodeq/include/"):
        return "a public header may include only std and public headers"
    if path.startswith("examples/"):
        return "an example may include only public headers"
    # The programs parse their options; everything else they use is behind the facades.
    if path.startswith(("coordinator/", "worker/")):
        above = ("base", "http") if path.startswith("coordinator/ctl/") else ()
        own = path.split("/")[1]
        fits = folder in ("config", "observe", "security", own, *above)
        return None if fits else "a program may include public headers, config, observe, security"
    return None


def check(source):
    """Checks the layer matrix, the places of third-party libraries, and the purity of the core."""
    path = source.path
    if not source.is_cpp or path.startswith(("tests/", "bench/")):
        return
    for line, match in source.matches(_INCLUDE):
        quote, header = match.groups()
        library = library_of(header)
        is_driven = re.match(_DRIVEN, path)
        may_use = library and re.search(PLACES[library], path)
        if library and (not may_use or (is_driven and library.startswith("CAF"))):
            yield source.found(line, "layering", f"{library} may not be used here")
        elif quote == '"' and not library:
            problem = _own_problem(path, header) if "/" in header else None
            if problem:
                yield source.found(line, "layering", problem)
        elif (_layer_of(path) == "core" or is_driven) and header in _IMPURE:
            yield source.found(line, "layering", f"what decides is pure: no <{header}>")
    if _layer_of(path) == "core" or re.match(_DRIVEN, path):
        for line, _ in source.matches(_CLOCK):
            yield source.found(line, "layering", "what decides is pure: its caller passes the time")
