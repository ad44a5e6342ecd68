# SPDX-License-Identifier: Apache-2.0
"""A network between a node and its coordinator that a test can stall and cut."""

import socket
import struct
import threading
import time

# The type of a frame is the ordinal of its message in the protocol's catalogue.
GOODBYE = 5
RESULT_REQUEST = 12
RESUME_REQUEST = 14


class Proxy:
    """Listens on a port of its own and forwards bytes to `target()`; the test can change that.
    Bytes from the coordinator are limited to the given rate."""

    def __init__(self, target, answer_bytes_per_second=None):
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._lock = threading.Lock()
        self._pairs = []
        self._swallows = False
        self._dropped = None
        self._rate = answer_bytes_per_second
        self.connections = 0
        self.swallowed = 0
        # Bytes from the coordinator on the latest connection, and the types of the node's frames.
        self.heard = bytearray()
        self.told = []
        threading.Thread(target=self._accept, daemon=True).start()

    @property
    def address(self):
        return f"127.0.0.1:{self._listener.getsockname()[1]}"

    def frame_types(self):
        """The types of the frames from the coordinator on the latest connection."""
        with self._lock:
            heard, types = bytes(self.heard), []
        while frame := first_frame(heard):
            types.append(type_of(frame))
            heard = heard[len(frame):]
        return types

    def drop(self, kind):
        """From now on drops frames of this type that a node sends."""
        with self._lock:
            self._dropped = kind

    def swallow_answers(self):
        """From now on drops everything that the coordinator sends on the current connections."""
        with self._lock:
            self._swallows = True

    def cut(self):
        """Ends all connections; later ones forward everything."""
        with self._lock:
            pairs, self._pairs = self._pairs, []
            self._swallows = False
        for pair in pairs:
            for end in pair:
                shut(end)

    def close(self):
        self._listener.close()
        self.cut()

    def _accept(self):
        while True:
            try:
                near, _ = self._listener.accept()
                far = socket.create_connection(("127.0.0.1", self._target()))
            except OSError:
                if self._listener.fileno() < 0:
                    return
                near.close()
                continue
            with self._lock:
                self._pairs.append((near, far))
                self.connections += 1
                self.heard = bytearray()
                self.told = []
            threading.Thread(target=self._pump, args=(near, far, False), daemon=True).start()
            threading.Thread(target=self._pump, args=(far, near, True), daemon=True).start()

    def _pump(self, source, sink, is_answer):
        waiting = b""
        try:
            while data := source.recv(1 << 16):
                with self._lock:
                    # A connection from before the cut forwards nothing more.
                    is_current = any(source in pair for pair in self._pairs)
                    drops = not is_current or (is_answer and self._swallows)
                    self.swallowed += len(data) if drops else 0
                    self.heard += data if is_answer and is_current else b""
                    if not is_answer:
                        data, waiting = self._sift(waiting + data)
                if not drops:
                    sink.sendall(data)
                    if is_answer and self._rate:
                        time.sleep(len(data) / self._rate)
        except OSError:
            pass
        shut(source)
        shut(sink)

    def _sift(self, data):
        """The complete frames of `data` that may pass, and the rest of it."""
        passed = b""
        while frame := first_frame(data):
            self.told.append(type_of(frame))
            passed += frame if self.told[-1] != self._dropped else b""
            data = data[len(frame):]
        return passed, data


def first_frame(data):
    """Header and body of the first frame; empty when it is incomplete."""
    size = 8 + struct.unpack_from("<I", data)[0] if len(data) >= 8 else 8
    return data[:size] if len(data) >= size else b""


def type_of(frame):
    return struct.unpack_from("<H", frame, 4)[0]


def shut(end):
    try:
        end.shutdown(socket.SHUT_RDWR)
    except OSError:
        pass
    end.close()
