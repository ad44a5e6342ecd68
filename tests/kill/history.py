# SPDX-License-Identifier: Apache-2.0
"""Decides whether what clients saw is a history that the contract allows. Reads the logs of
producers and handlers only; knows nothing of how the product works.

A line is "NANOSECONDS EVENT KEY=VALUE ...", on one monotonic clock for all processes:

    limit   limit concurrency                       a limit is defined, before all tasks
    send    task request atomic delay max group limits
                                                    a producer is about to send a task
    ack     task id                                 it was told that the task is accepted
    refused task code                               or why not
    end     id state attempt result                 it was told how the task ended
    final   id state attempt result                 asked again, when all was over
    start   task id token attempt                   a handler begins
    done    task id token how                       and says how the attempt ended

The result of a task is "TASK/TOKEN" of the attempt that completed it. The limits of a task are
"LIMIT:KEY", separated by commas.
"""

import collections
import pathlib

# After these errors nothing was added; after others the producer does not know.
REFUSED = {"invalid_argument", "too_large", "duplicate", "overloaded", "queue_full", "disk_full",
           "unknown_limit"}
TERMINAL = {"completed", "dead", "cancelled"}
# Due times are in whole milliseconds of another clock, which runs at the same speed.
EARLY_NS_MAX = 5_000_000
# Hexadecimal digits of an id that are its number on the shard.
SEQUENCE_DIGITS = 16

Event = collections.namedtuple("Event", "at what fields")


def parse(line):
    """An event, or None for an incomplete line."""
    words = line.split()
    if not line.endswith("\n") or len(words) < 2:
        return None
    return Event(int(words[0]), words[1], dict(word.split("=", 1) for word in words[2:]))


def read_logs(folder):
    """All events of all logs in a folder, in order of time."""
    events = []
    for path in sorted(pathlib.Path(folder).glob("*.log")):
        with open(path, encoding="utf-8") as lines:
            events += [event for event in map(parse, lines) if event]
    return sorted(events, key=lambda event: event.at)


class History:
    """Events indexed by task."""

    def __init__(self, events, is_of_cluster=False):
        self.is_of_cluster = is_of_cluster
        self.concurrency = {}
        self.sent = {}
        self.refused = {}
        self.ids = collections.defaultdict(set)
        self.acknowledged = {}
        self.starts = collections.defaultdict(list)
        self.dones = collections.defaultdict(list)
        self.ends = collections.defaultdict(list)
        self.finals = {}
        for event in events:
            getattr(self, f"_on_{event.what}")(event)

    def _on_limit(self, event):
        self.concurrency[event.fields["limit"]] = int(event.fields["concurrency"])

    def _on_send(self, event):
        self.sent[event.fields["task"]] = event

    def _on_ack(self, event):
        self.ids[event.fields["task"]].add(event.fields["id"])
        self.acknowledged[event.fields["id"]] = event

    def _on_refused(self, event):
        self.refused[event.fields["task"]] = event

    def _on_start(self, event):
        self.ids[event.fields["task"]].add(event.fields["id"])
        self.starts[event.fields["id"]].append(event)

    def _on_done(self, event):
        self.dones[event.fields["id"]].append(event)

    def _on_end(self, event):
        self.ends[event.fields["id"]].append(event)

    def _on_final(self, event):
        self.ends[event.fields["id"]].append(event)
        self.finals[event.fields["id"]] = event


def _token(event):
    return int(event.fields["token"])


def find_lost(history):
    """No acknowledged task is lost: at the end of the run every one has ended."""
    for task_id in history.acknowledged:
        final = history.finals.get(task_id)
        state = final.fields["state"] if final else "never heard of again"
        if state not in TERMINAL:
            yield f"lost: {task_id} was acknowledged and is {state}"


def find_invented(history):
    """Every task was sent, was added once, and was not refused."""
    for task, ids in history.ids.items():
        if task not in history.sent:
            yield f"invented: {task} was never sent"
        if len(ids) > 1:
            yield f"invented: {task} became {len(ids)} tasks"
        refusal = history.refused.get(task)
        if refusal and refusal.fields["code"] in REFUSED:
            yield f"invented: {task} was refused with {refusal.fields['code']} and lives"


def find_torn_batches(history):
    """A request marked as atomic is added completely or not at all."""
    requests = collections.defaultdict(list)
    for task, sent in history.sent.items():
        if sent.fields["atomic"] == "1":
            requests[task.rsplit("-", 1)[0], sent.fields["request"]].append(task)
    for name, tasks in requests.items():
        known = sum(1 for task in tasks if history.ids.get(task))
        if known not in (0, len(tasks)):
            yield f"torn: of request {name} there are {known} tasks of {len(tasks)}"


def _said(event):
    return tuple(event.fields.get(key) for key in ("state", "attempt", "result"))


def _accepted(end):
    """The token of the attempt whose result was accepted; None when the task did not complete."""
    if end.fields["state"] != "completed":
        return None
    token = end.fields.get("result", "").rsplit("/", 1)[-1]
    return int(token) if token.isdigit() else 0


def find_changed_results(history):
    """Each task has one accepted result, which was reported by that attempt and never changes."""
    for task_id, ends in history.ends.items():
        if len({_said(end) for end in ends}) > 1:
            yield f"result: {task_id} ended as {sorted({str(_said(end)) for end in ends})}"
        yield from _check_result(history, task_id, ends[0])


def _check_result(history, task_id, end):
    token = _accepted(end)
    if token is None:
        return
    reports = [done for done in history.dones.get(task_id, ()) if _token(done) == token]
    if not any(done.fields["how"] == "completed" and done.at <= end.at for done in reports):
        yield f"result: {task_id} completed as {end.fields.get('result')}, which nobody reported"
    elif end.fields["result"] != f"{reports[0].fields['task']}/{token}":
        yield f"result: {task_id} has the result {end.fields['result']} of another task"
    if any(_token(start) > token for start in history.starts.get(task_id, ())):
        yield f"result: {task_id} was handed out again after it had ended"


def find_bad_tokens(history):
    """Tokens grow from attempt to attempt, and no attempt starts twice."""
    for task_id, starts in history.starts.items():
        by_token = sorted(starts, key=_token)
        for before, after in zip(by_token, by_token[1:]):
            if _token(before) == _token(after):
                yield f"token: {task_id} started twice under token {_token(after)}"
            elif int(before.fields["attempt"]) > int(after.fields["attempt"]):
                yield f"token: {task_id} has a later attempt under a smaller token"


def find_bad_attempts(history):
    """No attempt exceeds the limit, and no task dies before it unless a handler failed
    permanently."""
    for task_id, starts in history.starts.items():
        sent = history.sent.get(starts[0].fields["task"])
        limit = int(sent.fields["max"]) if sent else 0
        worst = max(int(start.fields["attempt"]) for start in starts)
        if sent and worst > limit:
            yield f"attempts: {task_id} was at attempt {worst} of {limit}"
        for end in history.ends.get(task_id, ()):
            if end.fields["state"] != "dead" or int(end.fields["attempt"]) >= limit:
                continue
            if not any(done.fields["how"] == "permanent" for done in history.dones[task_id]):
                yield f"attempts: {task_id} died at attempt {end.fields['attempt']} of {limit}"


def find_early(history):
    """No task is delivered before its time."""
    for task_id, starts in history.starts.items():
        sent = history.sent.get(starts[0].fields["task"])
        if not sent:
            continue
        due = sent.at + int(sent.fields["delay"]) * 1_000_000
        first = min(start.at for start in starts)
        if first < due - EARLY_NS_MAX:
            yield f"early: {task_id} started {(due - first) / 1e6:.1f} ms before its time"


def _groups(history):
    """The ids of each group's tasks that ever started, in order of arrival. A connection keeps the
    order of a producer's requests; in a cluster one that was sent to the shard's former coordinator
    may arrive after a later one, so that the numbers of ids tell."""
    groups = collections.defaultdict(list)
    for task, sent in history.sent.items():
        started = [task_id for task_id in history.ids.get(task, ()) if history.starts.get(task_id)]
        if sent.fields["group"] and started:
            number = (int(started[0].replace("-", "")[:SEQUENCE_DIGITS], 16)
                      if history.is_of_cluster else int(task.rsplit("-", 1)[1]))
            groups[sent.fields["group"]].append((number, started[0]))
    for name, members in groups.items():
        yield name, [task_id for _, task_id in sorted(members)]


def find_disordered_groups(history):
    """Groups run in order and one task at a time: a task is granted when the previous one has
    ended, so under a greater token and after the report that ended it."""
    for name, members in _groups(history):
        for before, after in zip(members, members[1:]):
            last = max(_token(start) for start in history.starts[before])
            first = min(_token(start) for start in history.starts[after])
            if last > first:
                yield f"group: in {name} {after} was handed out before {before} was over"
            accepted = [done.at for done in history.dones[before]
                        for end in history.ends.get(before, ())[:1]
                        if _token(done) == _accepted(end)]
            begun = min(start.at for start in history.starts[after])
            if accepted and begun < accepted[0]:
                yield f"group: in {name} {after} began while {before} was still running"


def find_late_members(history):
    """In a group, a task arrives after those of the same request that are before it, and after
    those that were acknowledged before it was sent, whichever coordinator serves the shard."""
    for name, members in _groups(history):
        sent = {task_id: history.sent[history.starts[task_id][0].fields["task"]]
                for task_id in members}
        first = {task_id: (min(map(_token, history.starts[task_id])), task_id)
                 for task_id in members}
        known = sorted((task_id for task_id in members if task_id in history.acknowledged),
                       key=lambda task_id: -history.acknowledged[task_id].at)
        latest = (0, "")
        latest_of = {}
        for after in sorted(members, key=lambda task_id: sent[task_id].at):
            while known and history.acknowledged[known[-1]].at < sent[after].at:
                latest = max(latest, first[known.pop()])
            request = sent[after].fields["request"]
            before = max(latest, latest_of.get(request, latest))
            if before > first[after]:
                yield f"group: in {name} {after} was handed out before {before[1]}"
            latest_of[request] = max(before, first[after])


def _accepted_span(history, task_id):
    """When the attempt whose result was accepted started and reported; None without one. Its lease
    was live all the time, since a result is refused when the lease has ended."""
    token = _accepted(history.ends[task_id][0])
    starts = [start.at for start in history.starts.get(task_id, ()) if _token(start) == token]
    dones = [done.at for done in history.dones.get(task_id, ()) if _token(done) == token]
    return (starts[0], dones[0]) if starts and dones and starts[0] < dones[0] else None


def _spans_of_keys(history):
    """The spans of the accepted attempts of each key of a limit, with their tasks."""
    spans = collections.defaultdict(list)
    for task_id in history.ends:
        span = _accepted_span(history, task_id)
        sent = span and history.sent.get(history.starts[task_id][0].fields["task"])
        for use in sent.fields["limits"].split(",") if sent else ():
            spans[use].append((*span, task_id))
    return spans


def find_crowded_limits(history):
    """A key of a limit never has more leases than its concurrency at once. Leases of attempts whose
    results were not accepted do not count: only the coordinator knows when they ended."""
    for use, spans in _spans_of_keys(history).items():
        most = history.concurrency.get(use.split(":")[0])
        moments = sorted([(begin, True, task_id) for begin, _, task_id in spans]
                         + [(end, False, task_id) for _, end, task_id in spans])
        live = set()
        for _, begins, task_id in moments:
            (live.add if begins else live.discard)(task_id)
            if most is not None and len(live) > most:
                yield f"limit: {use} had {len(live)} leases of {most}, of {' '.join(sorted(live))}"
                break


RULES = (find_lost, find_invented, find_torn_batches, find_changed_results, find_bad_tokens,
         find_bad_attempts, find_early, find_disordered_groups, find_late_members,
         find_crowded_limits)


def check(events, is_of_cluster=False):
    """Describes the violations; empty when the history is allowed."""
    history = History(events, is_of_cluster)
    return [violation for rule in RULES for violation in rule(history)]


def explain(events, violations, most=5):
    """Shows the first violations, each with all events that clients logged for its tasks."""
    lines = []
    for violation in violations[:most]:
        words = set(violation.split())
        lines.append(violation)
        for event in events:
            if words & {event.fields.get("id"), event.fields.get("task")}:
                said = " ".join(f"{key}={value}" for key, value in event.fields.items())
                lines.append(f"  {event.at} {event.what} {said}")
    if len(violations) > most:
        lines.append(f"and {len(violations) - most} more")
    return "\n".join(lines)
