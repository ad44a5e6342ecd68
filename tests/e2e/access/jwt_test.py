# SPDX-License-Identifier: Apache-2.0
"""JWTs beside the tokens of the token file: at the node port, at the gateway, and while the keys of
the issuer change."""

import base64
import hashlib
import hmac
import json
import os
import time
import unittest

import cluster
from access import issuer
from cluster import wait_until
from gateway import Gateway

# After its `exp` a token is valid for so long, since clocks may be apart.
LEEWAY = 30


class JwtTest(cluster.ClusterTest):
    """A coordinator that accepts the tokens of an issuer with a key."""

    def start(self, source, *more):
        port_file = self.cluster.path("http-port")
        port_file.unlink(missing_ok=True)
        self.coordinator = self.cluster.start_coordinator(
            "--http", "127.0.0.1:0", "--http-port-file", port_file,
            access=issuer.options(source, *more))
        self.http = Gateway(int(wait_until(
            lambda: port_file.exists() and port_file.read_text().strip(), 10, "the port")))

    def key(self, kid, algorithm="ES256"):
        return issuer.Key(self.cluster.directory, kid, algorithm)

    def ask(self, token, method, path, body=None):
        return self.http.call(method, path, body, fields={"Authorization": f"Bearer {token}"})

    def status(self, token, path="/tasks"):
        return self.ask(token, "GET", path).status

    def token_file(self, name, token):
        """A private file with the token, which replaces an older one at once."""
        path = self.cluster.path(f"{name}.token")
        draft = self.cluster.path(f"{name}.draft")
        draft.touch(0o600)
        draft.write_text(token)
        os.replace(draft, path)
        return path

    def start_worker(self, token, name="w", queue="upper"):
        return self.cluster.start_worker(
            name, "--token-file", self.token_file(name, token), "--tenant", "dev-tenant",
            "--exec", f"{queue}=tr a-z A-Z", handlers=())


class Rights(JwtTest):
    """One producer, worker and admin; the claims are those of codeQ."""

    def setUp(self):
        super().setUp()
        self.ec, self.rsa = self.key("e"), self.key("r", "RS256")
        keys = self.cluster.path("keys.json")
        keys.write_text(issuer.key_set(self.ec, self.rsa))
        self.start(keys)
        self.producer = self.rsa.sign(issuer.claims("ada"))
        self.worker = self.ec.sign(issuer.claims("w1", **issuer.WORKER))
        self.admin = self.rsa.sign(issuer.claims("ops", role="ADMIN"))

    def enqueue(self, queue, token=None):
        return self.ask(token or self.producer, "POST", "/tasks", {"command": queue, "payload": 1})

    def test_nodes_and_operators_use_them(self):
        self.start_worker(self.worker)
        self.cluster.token = self.producer
        task = self.cluster.enqueue("upper", "x", "--tenant", "dev-tenant")
        self.assertEqual("X", self.cluster.result(task))
        self.assertIn("unauthorized", self.cluster.ctl_error("list", "--tenant", "dev-tenant"))
        self.cluster.token = self.admin
        self.cluster.ctl("queue", "pause", "upper", "--tenant", "dev-tenant")

    def test_role_scope_queue_and_tenant_decide(self):
        task = self.enqueue("mail").json["id"]
        self.assertEqual(403, self.ask(self.producer, "POST", "/tasks/claim", {}).status)
        self.assertEqual(403, self.status(self.producer, "/admin/queues"))
        self.assertEqual(200, self.status(self.admin, "/admin/queues"))
        self.assertEqual(403, self.enqueue("mail", self.worker).status)
        other = self.ec.sign(issuer.claims("x", tenantId="other", role="ADMIN"))
        self.assertEqual(404, self.status(other, f"/tasks/{task}"))

        mail = self.ec.sign(issuer.claims("w2", scope="codeq:claim", eventTypes=["mail"]))
        refused = self.ask(mail, "POST", "/tasks/claim", {"commands": ["print"]})
        self.assertEqual(403, refused.status)
        self.assertTrue(refused.json["error"].startswith("event type not allowed"))
        self.assertEqual(task, self.ask(mail, "POST", "/tasks/claim", {}).json["id"])
        refused = self.ask(mail, "POST", f"/tasks/{task}/result", {"status": "COMPLETED"})
        self.assertEqual((403, "missing scope codeq:result"),
                         (refused.status, refused.json["error"]))

        nothing = self.ec.sign(issuer.claims("w3", role="worker", scope="codeq:claim"))
        self.assertEqual(403, self.ask(nothing, "POST", "/tasks/claim", {}).status)

    def test_worker_node_needs_all_scopes_of_a_worker(self):
        token = self.ec.sign(issuer.claims("w", eventTypes=["*"], scope="codeq:claim"))
        worker = self.start_worker(token)

        self.assertNotEqual(0, worker.wait(10))
        self.assertIn("codeq:heartbeat", worker.text())

    def bad_tokens(self):
        """Tokens that are refused, by the reason that the log gives."""
        good = issuer.claims("ops", role="ADMIN")
        head, body, signature = self.rsa.sign(good).split(".")
        forged = issuer.base64url(json.dumps({**good, "sub": "boss"}).encode())
        none = issuer.base64url(b'{"alg":"none","kid":"r"}')
        hs256 = issuer.base64url(b'{"alg":"HS256","kid":"r"}')
        secret = json.dumps(self.rsa.jwk()).encode()
        mac = hmac.new(secret, f"{hs256}.{body}".encode(), hashlib.sha256).digest()
        sign = self.rsa.sign
        return (
            ("its signature is wrong", f"{head}.{forged}.{signature}"),
            ("its signature is wrong", self.key("r", "RS256").sign(good)),
            ("its alg is not RS256 or ES256", f"{none}.{body}."),
            ("its alg is not RS256 or ES256", f"{hs256}.{body}.{issuer.base64url(mac)}"),
            ("its alg is not RS256 or ES256", sign(good, alg="PS256")),
            ("its alg is not that of its key", sign(good, alg="ES256")),
            ("its kid is not among the keys", self.key("unknown").sign(good)),
            ("it has expired", sign(issuer.claims("ops", -LEEWAY - 1, role="ADMIN"))),
            ("it has no exp", sign({**good, "exp": None})),
            ("its nbf is in the future", sign({**good, "nbf": good["iat"] + 600})),
            ("its iss is another issuer", sign({**good, "iss": "https://evil.test"})),
            ("its aud is another audience", sign({**good, "aud": ["other"]})),
            ("its tenant is not a valid name", sign({**good, "tenantId": "a b"})),
            ("it names no subject", sign({**good, "sub": None})),
            ("it is not a JWT", "a.b"),
            ("it is not a JWT", f"{head}.{body}.!"),
            ("its signature is wrong", f"{head}.{body}."),
            ("it is not known", "codeq_" + "0" * 64),
            ("it has more than 3072 bytes", "x." * 1536 + "x"),
        )

    def test_bad_token_is_401_and_no_more_whatever_is_wrong(self):
        answers = set()
        for reason, token in self.bad_tokens():
            answer = self.ask(token, "GET", "/admin/queues")
            fields = {name: value for name, value in answer.fields.items()
                      if name not in ("date", "x-request-id")}
            answers.add((answer.status, answer.text, json.dumps(fields)))
            wait_until(lambda r=reason: f'reason="{r}' in self.coordinator.text(), 5, reason)
        self.assertEqual(1, len(answers), answers)
        status, text, fields = answers.pop()
        self.assertEqual((401, ["error"]), (status, list(json.loads(text))))
        self.assertRegex(text, "invalid token: .*does not know it, or it has expired; .* log")
        self.assertEqual("Bearer", json.loads(fields)["www-authenticate"])
        for part in ("eyJ", "codeq_000"):
            self.assertNotIn(part, self.coordinator.text(), "a token in the log")

    def test_node_with_a_bad_token_learns_no_reason(self):
        for token in (self.ec.sign(issuer.claims("w", -LEEWAY - 1, **issuer.WORKER)),
                      self.ec.sign(issuer.claims("w", iss="x", **issuer.WORKER))):
            self.cluster.token = token
            self.assertIn("does not know the token", self.cluster.ctl_error("stats"))


class Expiry(JwtTest):
    """The end of a token ends what was begun with it."""

    def setUp(self):
        super().setUp()
        self.ec = self.key("e")
        keys = self.cluster.path("keys.json")
        keys.write_text(issuer.key_set(self.ec))
        self.start(keys)
        self.cluster.token = self.ec.sign(issuer.claims("ada"))

    def token(self, seconds, subject="w1"):
        """A worker's token that is accepted for so long."""
        return self.ec.sign(issuer.claims(subject, seconds - LEEWAY, **issuer.WORKER))

    def run_task(self):
        task = self.cluster.enqueue("upper", "x", "--tenant", "dev-tenant")
        return self.cluster.result(task)

    def test_session_of_a_node_ends(self):
        worker = self.start_worker(self.token(7))
        self.assertEqual("X", self.run_task())

        self.assertNotEqual(0, worker.wait(15))
        self.assertIn("the token has expired", self.coordinator.text())
        self.assertIn("does not know the token", worker.text())

    def test_node_goes_on_with_a_newer_token_from_its_file(self):
        worker = self.start_worker(self.token(7))
        self.assertEqual("X", self.run_task())
        self.token_file("w", self.token(600))

        wait_until(lambda: "the token has expired" in self.coordinator.text(), 15, "its end")
        self.assertEqual("X", self.run_task())
        self.assertTrue(worker.is_running())

    def test_long_poll_for_a_task_ends(self):
        begin = time.monotonic()
        answer = self.ask(self.token(4), "POST", "/tasks/claim",
                          {"commands": ["mail"], "waitSeconds": 50})

        self.assertEqual(401, answer.status)
        self.assertIn("invalid token", answer.json["error"])
        self.assertLess(time.monotonic() - begin, 20)
        # Its claim is over, too: the next task goes to another worker.
        task = self.ask(self.cluster.token, "POST", "/tasks", {"command": "mail", "payload": 1})
        claimed = self.ask(self.token(600, "w2"), "POST", "/tasks/claim",
                           {"commands": ["mail"], "waitSeconds": 10})
        self.assertEqual((200, task.json["id"], 1),
                         (claimed.status, claimed.json["id"], claimed.json["attempts"]))

    def test_long_poll_for_a_result_ends(self):
        task = self.ask(self.cluster.token, "POST", "/tasks", {"command": "mail", "payload": 1})
        begin = time.monotonic()
        answer = self.ask(self.token(4), "GET", f"/tasks/{task.json['id']}/result?waitSeconds=50")

        self.assertEqual(401, answer.status)
        self.assertLess(time.monotonic() - begin, 20)


class Keys(JwtTest):
    """The issuer's keys change, or cannot be read."""

    def serve(self, *keys, more=("--jwks-refresh", "2s")):
        self.server = issuer.KeyServer(issuer.key_set(*keys))
        self.addCleanup(self.server.close)
        self.start(self.server.url, *more)

    def test_rotation_lets_both_keys_in_until_one_is_withdrawn(self):
        old, new = self.key("k1"), self.key("k2", "RS256")
        self.serve(old)
        by_old = old.sign(issuer.claims("w1", **issuer.WORKER))
        by_new = new.sign(issuer.claims("ada"))
        worker = self.start_worker(by_old)
        self.assertEqual((200, 401), (self.status(by_old), self.status(by_new)))

        self.server.text = issuer.key_set(old, new)
        wait_until(lambda: self.status(by_new) == 200, 10, "the new key")
        self.assertEqual(200, self.status(by_old))
        self.assertTrue(worker.is_running())

        self.server.text = issuer.key_set(new)
        wait_until(lambda: self.status(by_old) == 401, 10, "the end of the old key")
        self.assertEqual(200, self.status(by_new))
        self.assertNotEqual(0, worker.wait(10))
        self.assertIn("the key of the token was withdrawn", self.coordinator.text())

    def test_unknown_keys_cause_few_reads(self):
        known = self.key("k1")
        self.serve(known, more=())
        stranger = self.key("k2")
        begin = time.monotonic()
        for n in range(100):
            self.assertEqual(401, self.status(stranger.sign(issuer.claims("x"), kid=f"k{n + 2}")))
        self.assertLessEqual(self.server.reads, 1 + (time.monotonic() - begin + 10) // 30)
        self.assertEqual(200, self.status(known.sign(issuer.claims("ada"))))

    def test_last_keys_stay_in_use_until_they_are_stale(self):
        key = self.key("k1")
        self.serve(key, more=("--jwks-refresh", "1s", "--jwks-stale", "20s"))
        token = key.sign(issuer.claims("ada"))
        good = self.server.text
        for self.server.status, self.server.text in ((500, good), (200, "{}")):
            reads = self.server.reads
            wait_until(lambda r=reads: self.server.reads > r + 1, 10, "failed reads")
            self.assertEqual(200, self.status(token))
        self.assertIn("keys of JWTs cannot be read", self.coordinator.text())

        wait_until(lambda: self.status(token) == 401, 30, "the keys are stale")
        self.server.text = good
        wait_until(lambda: self.status(token) == 200, 10, "good keys again")

    def test_coordinator_starts_without_the_issuer(self):
        key = self.key("k1")
        self.server = issuer.KeyServer(issuer.key_set(key))
        self.addCleanup(self.server.close)
        self.server.status = 503
        self.start(self.server.url, "--jwks-refresh", "1s")
        token = key.sign(issuer.claims("ada"))
        self.assertEqual(401, self.status(token))

        self.server.status = 200
        wait_until(lambda: self.status(token) == 200, 10, "the keys are read")

    def test_file_is_read_again_on_sighup(self):
        old, new = self.key("k1"), self.key("k2")
        keys = self.cluster.path("keys.json")
        keys.write_text(issuer.key_set(old))
        self.start(keys)
        token = new.sign(issuer.claims("ada"))
        self.assertEqual(401, self.status(token))

        keys.write_text(issuer.key_set(old, new))
        self.coordinator.hang_up()
        wait_until(lambda: self.status(token) == 200, 10, "the new key")
        keys.write_text("nonsense")
        self.coordinator.hang_up()
        wait_until(lambda: "keeps what was in force" in self.coordinator.text(), 10, "the refusal")
        self.assertEqual(200, self.status(token))

    def refused_start(self, *access):
        with self.assertRaises(RuntimeError) as caught:
            self.cluster.start_coordinator(access=access)
        return str(caught.exception)

    def test_start_without_good_keys_is_refused(self):
        keys = self.cluster.path("keys.json")
        self.assertIn("cannot be read", self.refused_start(*issuer.options(keys)))
        keys.write_text('{"keys":[]}')
        self.assertIn("has no key for RS256", self.refused_start(*issuer.options(keys)))
        keys.write_text(issuer.key_set(self.key("k")))
        keys.chmod(0o666)
        self.assertIn("every user may write it", self.refused_start(*issuer.options(keys)))
        keys.chmod(0o644)
        self.assertIn("--jwks needs --jwt-issuer", self.refused_start("--jwks", keys))
        self.assertIn("without https", self.refused_start(
            *issuer.options("http://192.0.2.1/keys")))
        self.assertIn("must be subject, tenant", self.refused_start(
            *issuer.options(keys, "--jwt-claim", "sub=x")))
        self.assertIn("exclude each other", self.refused_start("--dev", *issuer.options(keys)))


if __name__ == "__main__":
    unittest.main()
