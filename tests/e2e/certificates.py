# SPDX-License-Identifier: Apache-2.0
"""A certificate authority for tests; uses the openssl program."""

import subprocess


class Authority:
    """Writes `ca.pem` and the certificates it issues into a folder."""

    def __init__(self, folder):
        self.folder = folder
        self.file = folder / "ca.pem"
        self._run("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                  "-days", "2", "-subj", "/CN=codeq test authority",
                  "-addext", "basicConstraints=critical,CA:TRUE",
                  "-addext", "keyUsage=critical,keyCertSign",
                  "-keyout", folder / "ca.key", "-out", self.file)

    def issue(self, name, alternative_names="IP:127.0.0.1,DNS:localhost"):
        """Creates or replaces `NAME.pem` and `NAME.key`; returns both paths."""
        certificate, key = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        request = self.folder / f"{name}.csr"
        self._run("req", "-new", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                  "-subj", f"/CN={name}", "-addext", f"subjectAltName={alternative_names}",
                  "-keyout", key, "-out", request)
        self._run("x509", "-req", "-in", request, "-CA", self.file, "-CAkey",
                  self.folder / "ca.key", "-days", "2", "-copy_extensions", "copy",
                  "-out", certificate)
        return certificate, key

    @staticmethod
    def _run(*words):
        subprocess.run(["openssl", *map(str, words)], check=True, capture_output=True, timeout=60)
