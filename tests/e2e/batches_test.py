# SPDX-License-Identifier: Apache-2.0
"""Batches of guarded, promotable and new keys, killed while they are written: each shard has its
whole part of a batch or none of it."""

import collections
import json
import random
import time
import unittest

import cluster
from cluster import BATCHES, wait_until

KILLS = 8
ROUNDS = 400
STANDING_KEYS = 16
NEW_KEYS = 8


def shard_of(task):
    """An id contains the number of its shard."""
    return task["id"].replace("-", "")[20:24]


def new_places(keys):
    """Round -> places of the keys that were new in it."""
    places = collections.defaultdict(set)
    for key in keys:
        if key.startswith("new-"):
            _, number, place = key.split("-")
            places[int(number)].add(int(place))
    return places


class KilledMidWrite(cluster.ClusterTest):
    def acknowledged(self, log):
        """The rounds that were acknowledged; an incomplete last line is ignored."""
        text = log.read_text() if log.exists() else ""
        return {int(line) for line in text.split("\n")[:-1]}

    def base(self):
        """So far in the future that no task becomes ready."""
        return int(time.time() * 1000) + 3 * 3600 * 1000

    def send(self, queue, base, log):
        return self.cluster.start(queue, [
            BATCHES, self.cluster.address, queue, base, ROUNDS, log])

    def kill_under_batches(self, queue, *options):
        """Kills the coordinator under batches. Returns the base time and the acknowledged
        rounds."""
        base = self.base()
        log = self.cluster.path(f"{queue}.rounds")
        sender = self.send(queue, base, log)
        rounds = random.randrange(5, 60)
        wait_until(lambda: len(self.acknowledged(log)) >= rounds, 30, f"{rounds} rounds")
        time.sleep(random.random() * 0.01)
        self.cluster.coordinator.kill()
        # Before it can resend requests without an answer.
        sender.kill()
        known = self.acknowledged(log)
        self.assertLess(len(known), ROUNDS, "the batches were over before the kill")
        self.cluster.start_coordinator(*options)
        return base, known

    def parts(self, queue):
        """For each shard: key -> time of its task."""
        listed = json.loads(self.cluster.ctl(
            "--json", "list", "--queue", queue, "--limit", "10000"))["tasks"]
        shards = collections.defaultdict(dict)
        for task in listed:
            self.assertNotIn(task["key"], shards[shard_of(task)])
            shards[shard_of(task)][task["key"]] = task["eligible_at_ms"]
        return shards

    def check_part(self, keys, base, owned, known):
        """Checks one shard: its keys are as its last round left them, every earlier round has all
        of its keys, and there are no keys of later rounds. Returns the last round."""
        times = [base + (1000 if number % 2 == 0 else -1000) * number for number in range(ROUNDS)]
        moved = {at for key, at in keys.items() if key.startswith("open-")}
        self.assertEqual(len(moved), 1, "a round moved some of the keys")
        last = times.index(*moved)
        self.assertGreaterEqual(last, max(known))
        guarded = {at for key, at in keys.items() if key.startswith("guarded-")}
        self.assertEqual(guarded, {max(times[:last + 1])}, f"after round {last}")
        places = new_places(keys)
        expected = {number: those for number, those in owned.items() if number <= last}
        self.assertEqual(places, expected, f"after round {last}")
        return last

    def owned_by(self, queue):
        """Shard -> round -> places of the new keys that the shard owns. Found by experiment: the
        same batches are sent once more, without a kill."""
        sender = self.send(queue, self.base(), self.cluster.path(f"{queue}.again"))
        self.assertEqual(sender.popen.wait(60), 0)
        return {shard: new_places(keys) for shard, keys in self.parts(queue).items()}

    def check(self, *options):
        self.cluster.start_coordinator(*options)
        for kill in range(KILLS):
            queue = f"mixed-{kill}"
            base, known = self.kill_under_batches(queue, *options)
            found = self.parts(queue)
            owned = self.owned_by(queue)
            lasts = {shard: self.check_part(keys, base, owned[shard], known)
                     for shard, keys in found.items()}
            print(f"{len(known)} rounds acknowledged; the last ones of the shards: {lasts}")
            yield found, owned

    def test_every_shard_has_all_of_its_part_or_nothing(self):
        for found, owned in self.check("--shards", "4", "--durability", "sync"):
            self.assertEqual((len(found), len(owned)), (4, 4))

    def test_one_shard_has_the_whole_batch_or_nothing(self):
        for found, owned in self.check("--shards", "1", "--durability", "os"):
            (keys,) = found.values()
            (places,) = owned.values()
            self.assertEqual(sum(not key.startswith("new-") for key in keys), 2 * STANDING_KEYS)
            self.assertEqual(set(map(len, places.values())), {NEW_KEYS})


if __name__ == "__main__":
    unittest.main()
