// SPDX-License-Identifier: Apache-2.0
// Replication of one shard: three replicas, a configuration master, two changes of the epoch and
// two deltas. README.md says what each variable stands for and what is left out.
//
// The model is one process. Each option of its loop is one atomic step of one replica, of the
// configuration master, of time or of a fault, and any option may come next. Loss of a message is
// that its step never happens; delay and doubling are that it may happen at any later time, again.
//
// -DOS is durability mode `os`: what was not synced is confirmed, and a power cut loses it. Each
// other switch breaks one rule, and must lead to a failed assertion.

#define N 3
#define EPOCHS 3
#define DELTAS 2
#ifdef TIMED
#define DELTAS_MADE 0
#else
#define DELTAS_MADE DELTAS
#endif
#define START(epoch) (DELTAS + (epoch) - 1)
#define ENTRIES (DELTAS + EPOCHS - 1)
#define BIT(x) (1 << (x))
#define IN(x, set) (((set) >> (x)) & 1)

// The configuration master: the shard's value. Its version is not modelled: each change drops all
// other requests that are under way, since their comparison would fail.
byte epoch = 1;
byte primary = 0;
byte in_sync = 7;

// All entries that were ever made: deltas 1..DELTAS and the starts of epochs from START(2) on.
// Entry 0 is the empty history. `history[i]` is the set of entries up to i.
byte made_in[ENTRIES + 1];
byte before[ENTRIES + 1];
byte position[ENTRIES + 1];
byte history[ENTRIES + 1];
byte deltas;
byte acknowledged;

// Of each replica, on its disk: its promise and the last entry of its log.
byte promised[N];
byte last[N];
// Entries that it confirmed on the connection to a primary that still needs them.
byte confirmed[N];
#ifdef CONFIRM_BEFORE_SYNC
byte synced[N];
#endif
#ifdef PRIMARY_FIRST
bit is_ahead[N];
#endif
#ifdef OS
bit doubtful[N];
byte cuts;
#endif

// Of each replica, in memory: the epoch whose primary it believes to be; 0: none.
byte leads[N];
#define FOLLOWS 0
#define COLLECTS 1
#define STARTS 2
#define WAITS 3
#define SERVES 4
#ifdef TIMED
#define WAITS_OR_SERVES WAITS
#else
#define WAITS_OR_SERVES SERVES
#endif
byte phase[N];
// The set as its last answer from the configuration master said, and who answered its take-over.
byte known[N];
byte collected[N];
// Last entry that it sent; what comes after `last` is its window.
byte sent[N];
// Its change of the set: the kind, the member, and the last entry before those that count it.
#define NONE 0
#define SHRINKING 1
#define COUNTING 2
#define GROWING 3
byte change[N];
byte member[N];
byte counted_after[N];

// Members whose confirmed beacon entitles the primary of an epoch, as the member's bit.
#ifdef TIMED
byte entitles[EPOCHS + 1];
byte released;
byte served = 1;
#endif

hidden byte used;

#define EXISTS(i) (position[i] > 0)
#define HAS_SENT(r, i) IN(i, history[sent[r]])
#define HOLDS(r, i) IN(i, history[last[r]])
#define IS_ADDING(p) (change[p] >= COUNTING)
// Once its addition is asked for, a learner counts for all that is not acknowledged: what it
// confirmed earlier may be gone with its connection.
#ifdef ADDITION_COUNTS_IN_PART
#define COUNTS_FOR_ALL(p) 0
#else
#define COUNTS_FOR_ALL(p) (change[p] == GROWING)
#endif
#ifdef ADDITION_COUNTED_LATE
#define MAXIMAL(p) known[p]
#define NEEDED(p, i) known[p]
#else
#define MAXIMAL(p) (known[p] | (IS_ADDING(p) -> BIT(member[p]) : 0))
#define NEEDED(p, i) \
  (known[p] | (IS_ADDING(p) && (COUNTS_FOR_ALL(p) || position[i] > position[counted_after[p]]) -> \
               BIT(member[p]) : 0))
#endif
#define HAS_CONFIRMED(f, p, i) (f == p || !IN(f, NEEDED(p, i)) || IN(i, confirmed[f]))
#define ALL_CONFIRMED(p, i) \
  (HAS_CONFIRMED(0, p, i) && HAS_CONFIRMED(1, p, i) && HAS_CONFIRMED(2, p, i))
#define OTHERS(p) (MAXIMAL(p) & ~BIT(p))
#define IS_ENTITLED(p) ((OTHERS(p) & ~entitles[leads[p]]) == 0)

// The replica gives up its primacy and all that is in its memory for it.
inline forget(r) {
#ifdef PRIMARY_FIRST
  if
  :: leads[r] -> last[r] = sent[r]; is_ahead[r] = 1
  :: else
  fi;
#endif
  leads[r] = 0; phase[r] = FOLLOWS; known[r] = 0; collected[r] = 0; sent[r] = 0;
  change[r] = NONE; member[r] = 0; counted_after[r] = 0
}

// A message of a primary of epoch e arrives: the replica promises e, and gives up an older epoch.
inline promise(r, e) {
  if
  :: promised[r] < e -> promised[r] = e; forget(r)
  :: else
  fi
}

inline settle_change(p) {
  change[p] = NONE; member[p] = 0; counted_after[p] = 0
}

inline make(p, i) {
  made_in[i] = leads[p]; before[i] = sent[p]; position[i] = position[sent[p]] + 1;
  history[i] = history[sent[p]] | BIT(i); sent[p] = i
}

inline set_epoch(leader, members) {
  epoch++; primary = leader; in_sync = members
}

inline keep_of(p) {
  if
  :: leads[p] -> used = used | (history[sent[p]] & ~history[last[p]]);
     if
     :: IS_ADDING(p) -> used = used | BIT(counted_after[p])
     :: else
     fi
  :: else
  fi
}

#define MAY_ANSWER(p) (leads[p] && phase[p] == SERVES && IS_ENTITLED(p))

// Ends each step: forgets confirmations that no primary can use any more, and checks that no
// primary may answer once a later epoch serves.
inline done() {
  used = 0; keep_of(0); keep_of(1); keep_of(2);
  confirmed[0] = confirmed[0] & used; confirmed[1] = confirmed[1] & used;
  confirmed[2] = confirmed[2] & used;
#ifdef TIMED
  assert(!MAY_ANSWER(0) || leads[0] >= served);
  assert(!MAY_ANSWER(1) || leads[1] >= served);
  assert(!MAY_ANSWER(2) || leads[2] >= served);
#endif
  used = 0
}

// The replica writes entry i, which is made for the state that it has, and confirms it.
inline write(f, i) {
  assert(before[i] == last[f]);
  last[f] = i; confirmed[f] = confirmed[f] | BIT(i)
}

#define JOINS(f, i) \
  (position[before[i]] == position[last[f]] && made_in[before[i]] == made_in[last[f]])
#ifdef PRIMARY_FIRST
// It takes what it wrote itself for what the others have.
#define IS_OWN(f) is_ahead[f]
#else
#define IS_OWN(f) 0
#endif
#ifdef JOIN_BY_POSITION
#define IS_BELOW(f, i) (position[i] <= position[last[f]])
#else
#define IS_BELOW(f, i) \
  ((made_in[i] == made_in[last[f]] || IS_OWN(f)) && position[i] <= position[last[f]])
#endif

// An append by the primary of the entry's epoch, which need not live any more.
#define RECEIVE(f, i) \
  :: d_step { EXISTS(i) && promised[f] <= made_in[i] && leads[f] < made_in[i] && \
     ((JOINS(f, i) && !IS_BELOW(f, i)) || (IS_BELOW(f, i) && !IN(i, confirmed[f]))) -> \
     promise(f, made_in[i]); \
     if \
     :: IS_BELOW(f, i) -> confirmed[f] = confirmed[f] | BIT(i) \
     :: else -> write(f, i) \
     fi; \
     }
#define RECEIVE_ANY(f) RECEIVE(f, 1) RECEIVE(f, 2) RECEIVE(f, 3) RECEIVE(f, 4)

// A primary sends an earlier entry to a replica that is behind.
#define STREAM(p, f, i) \
  :: d_step { leads[p] && phase[p] >= COLLECTS && promised[f] <= leads[p] && \
     made_in[i] < leads[p] && IN(i, history[sent[p]]) && before[i] == last[f] && \
     (IN(f, collected[p]) || phase[p] >= STARTS) -> \
     promise(f, leads[p]); write(f, i) }
#define STREAM_ANY(p, f) STREAM(p, f, 1) STREAM(p, f, 2) STREAM(p, f, 3) STREAM(p, f, 4)

// A replica that is not in the set has a tail that does not join: it is cut off.
inline step_back(p, f) {
  if
  :: history[last[f]] & ~history[sent[p]] -> last[f] = before[last[f]]
  :: else
  fi
}
#define REBUILD(p, f) \
  :: d_step { leads[p] && phase[p] >= WAITS && promised[f] <= leads[p] && \
     leads[f] < leads[p] && !IN(f, known[p]) && (history[last[f]] & ~history[sent[p]]) && \
     !IS_OWN(f) -> \
     promise(f, leads[p]); \
     step_back(p, f); step_back(p, f); step_back(p, f); step_back(p, f); \
     REBUILT(f) \
     }
#ifdef CONFIRM_BEFORE_SYNC
#define REBUILT(f) synced[f] = last[f];
#else
#define REBUILT(f)
#endif

// The oldest entry of the window is confirmed by all that count: the primary writes it, and
// acknowledges it or has started its epoch.
#define COMMIT(p, i) \
  :: d_step { leads[p] && IN(i, history[sent[p]]) && before[i] == last[p] && last[p] != sent[p] && \
     ALL_CONFIRMED(p, i) -> \
     last[p] = i; \
     if \
     :: i > DELTAS -> phase[p] = WAITS_OR_SERVES \
     :: else -> acknowledged = acknowledged | BIT(i); check_later(i) \
     fi; \
     }
#define COMMIT_ANY(p) COMMIT(p, 1) COMMIT(p, 2) COMMIT(p, 3) COMMIT(p, 4)

// An acknowledged delta is in the history of each later epoch that has started.
inline check_later(i) {
  assert(made_in[i] >= 2 || !EXISTS(START(2)) || IN(i, history[START(2)]));
  assert(made_in[i] >= 3 || !EXISTS(START(3)) || IN(i, history[START(3)]))
}

#define MAKE(p) \
  :: d_step { leads[p] && phase[p] == SERVES && deltas < DELTAS_MADE -> \
     deltas++; make(p, deltas) }

// Changes of the set. ASK sends the compare-and-set, APPLY is the configuration master's turn, and
// LEARN an answer to it or to the next one, which drops what is still under way.
#ifdef SHRINK_BEFORE_ANSWER
#define SHRUNK(p, f) known[p] = known[p] & ~BIT(f);
#else
#define SHRUNK(p, f)
#endif
#define SHRINK(p, f) \
  :: d_step { leads[p] && f != p && change[p] == NONE && IN(f, known[p]) -> \
     change[p] = SHRINKING; member[p] = f; SHRUNK(p, f) }
#define COUNT(p, f) \
  :: d_step { leads[p] && f != p && change[p] == NONE && phase[p] >= MAY_GROW && \
     !IN(f, known[p]) && promised[f] <= leads[p] -> \
     promise(f, leads[p]); \
     change[p] = COUNTING; member[p] = f; counted_after[p] = sent[p]; \
     if \
     :: HOLDS(f, sent[p]) -> confirmed[f] = confirmed[f] | BIT(sent[p]) \
     :: else \
     fi; \
     }
#ifdef LEARNER_EARLY
#define IS_CAUGHT_UP(p) 1
#else
#define IS_CAUGHT_UP(p) (counted_after[p] == 0 || IN(counted_after[p], confirmed[member[p]]))
#endif
#ifdef GROW_BEFORE_SERVING
#define MAY_GROW STARTS
#else
#define MAY_GROW SERVES
#endif
#define GROW(p) \
  :: d_step { leads[p] && change[p] == COUNTING && IS_CAUGHT_UP(p) -> change[p] = GROWING }
#define UNCOUNT(p) \
  :: d_step { leads[p] && change[p] == COUNTING -> settle_change(p) }
#define APPLY(p) \
  :: d_step { leads[p] == epoch && primary == p && \
     ((change[p] == SHRINKING && IN(member[p], in_sync)) || \
      (change[p] == GROWING && !IN(member[p], in_sync))) -> \
     in_sync = in_sync ^ BIT(member[p]) }
#define LEARN(p) \
  :: d_step { leads[p] && (leads[p] < epoch || change[p] == SHRINKING || change[p] == GROWING) -> \
     if \
     :: leads[p] < epoch -> forget(p) \
     :: else -> known[p] = in_sync; settle_change(p); \
        if \
        :: phase[p] == COLLECTS -> begin(p) \
        :: else \
        fi \
     fi; \
     }

// Elections: any member of the set may be chosen, with any part of the set that answered.
#ifdef ELECT_OUTSIDE
#define IS_ELECTABLE(r) 1
#define IS_SET(members) ((members & in_sync) != 0)
#else
#define IS_ELECTABLE(r) IN(r, in_sync)
#define IS_SET(members) ((members & ~in_sync) == 0)
#endif
#if defined(OS) && !defined(DOUBTFUL_ELECTED)
#define IS_SURE(r) (!doubtful[r])
#else
#define IS_SURE(r) 1
#endif
#ifdef DOUBT_SEEN_ONCE
#define MAY_LEAD(r) 1
#else
#define MAY_LEAD(r) IS_SURE(r)
#endif
#define ELECT(r, members) \
  :: d_step { epoch < EPOCHS && IS_ELECTABLE(r) && IS_SET(members) && IS_SURE(r) -> \
     set_epoch(r, members) }
#define ELECT_ANY(r, f, g) \
  ELECT(r, BIT(r)) ELECT(r, (BIT(r) | BIT(f))) ELECT(r, (BIT(r) | BIT(g))) ELECT(r, 7)

// When all members have answered, the winner starts its epoch, once, with all that was acknowledged
// earlier.
#define IS_KEPT(i, r) (!IN(i, acknowledged) || made_in[i] > leads[r] || HAS_SENT(r, i))
inline begin(r) {
  if
  :: (OTHERS(r) & ~collected[r]) == 0 ->
     phase[r] = STARTS; collected[r] = 0;
     assert(!EXISTS(START(leads[r])));
     make(r, START(leads[r]));
     assert(IS_KEPT(1, r) && IS_KEPT(2, r))
  :: else
  fi
}

// The take-over: the promise first, then the members' promises and what they have more.
#define TAKE_OVER(r) \
  :: d_step { primary == r && promised[r] < epoch && MAY_LEAD(r) -> \
     promise(r, epoch); leads[r] = epoch; phase[r] = COLLECTS; \
     known[r] = in_sync; sent[r] = last[r]; \
     begin(r) }
#define COLLECT(r, f) \
  :: d_step { leads[r] && phase[r] == COLLECTS && IN(f, OTHERS(r)) && !IN(f, collected[r]) && \
     promised[f] <= leads[r] -> \
     promise(f, leads[r]); \
     collected[r] = collected[r] | BIT(f); \
     if \
     :: IN(last[r], history[last[f]]) || last[r] == 0 -> last[r] = last[f]; sent[r] = last[f] \
     :: else -> assert(IN(last[f], history[last[r]]) || last[f] == 0) \
     fi; \
     begin(r); \
     }
#ifdef TIMED
// Time: a beacon is sent and confirmed; 1.5 s pass for its sender; and 2 s pass for who confirmed
// it, which is not before the former.
#define BEACON(p, f) \
  :: d_step { leads[p] && leads[p] < EPOCHS && phase[p] == SERVES && IN(f, OTHERS(p)) && \
     promised[f] <= leads[p] && !IN(f, entitles[leads[p]]) -> \
     promise(f, leads[p]); entitles[leads[p]] = entitles[leads[p]] | BIT(f) }
#define EXPIRE(e, f) \
  :: d_step { IN(f, entitles[e]) -> entitles[e] = entitles[e] & ~BIT(f) }
#ifdef NO_WAIT
#define HAS_WAITED(r) 1
#else
#define HAS_WAITED(r) (!IN(r, entitles[1]) && !IN(r, entitles[2]))
#endif
#ifdef OLDER_RELEASE
#define IS_RELEASED(r) (released != 0)
#else
#define IS_RELEASED(r) IN(leads[r] - 1, released)
#endif
#define SERVE(r) \
  :: d_step { leads[r] && phase[r] == WAITS && (HAS_WAITED(r) || IS_RELEASED(r)) -> \
     phase[r] = SERVES; served = (leads[r] > served -> leads[r] : served) }

// A primary gives up its epoch for good and says so.
#ifdef RELEASE_BEFORE_SERVING
#define MAY_RELEASE(p) 1
#else
#define MAY_RELEASE(p) (phase[p] == SERVES)
#endif
#ifdef RELEASE_NOT_FINAL
#define RELEASED(p)
#else
#define RELEASED(p) forget(p);
#endif
#define RELEASE(p) \
  :: d_step { leads[p] && leads[p] < EPOCHS && MAY_RELEASE(p) && !IN(leads[p], released) -> \
     released = released | BIT(leads[p]); RELEASED(p) }
#else
#define BEACON(p, f)
#define EXPIRE(e, f)
#define SERVE(r)
#define RELEASE(p)
#endif

// Faults.
#ifdef PROMISE_VOLATILE
#define PROMISE_LOST(r) promised[r] = 1;
#else
#define PROMISE_LOST(r)
#endif
#ifdef CONFIRM_BEFORE_SYNC
#define UNSYNCED_LOST(r) last[r] = synced[r];
#else
#define UNSYNCED_LOST(r)
#endif
#define CRASH(r) \
  :: d_step { CAN_CRASH(r) -> forget(r); PROMISE_LOST(r) UNSYNCED_LOST(r) }
#ifdef CONFIRM_BEFORE_SYNC
#define CAN_CRASH(r) (leads[r] || last[r] != synced[r])
#elif defined(PROMISE_VOLATILE)
#define CAN_CRASH(r) (leads[r] || promised[r] > 1)
#else
#define CAN_CRASH(r) leads[r]
#endif
#ifdef EPOCH_RESUMED
#define RESUME(r) \
  :: d_step { primary == r && promised[r] == epoch && leads[r] == 0 && \
     (epoch == 1 || HOLDS(r, START(epoch))) -> \
     leads[r] = epoch; phase[r] = SERVES; known[r] = in_sync; sent[r] = last[r] }
#else
#define RESUME(r)
#endif

#define OF_ONE(r, f, g) \
  RECEIVE_ANY(r) COMMIT_ANY(r) MAKE(r) GROW(r) UNCOUNT(r) APPLY(r) LEARN(r) ELECT_ANY(r, f, g) \
  TAKE_OVER(r) SERVE(r) RELEASE(r) CRASH(r) RESUME(r) EXPIRE(1, r) EXPIRE(2, r) DISK(r)
#define OF_TWO(p, f) \
  STREAM_ANY(p, f) REBUILD(p, f) SHRINK(p, f) COUNT(p, f) COLLECT(p, f) BEACON(p, f) TRUST(p, f)

#ifdef CONFIRM_BEFORE_SYNC
#define SYNC(r) :: d_step { synced[r] != last[r] -> synced[r] = last[r] }
#else
#define SYNC(r)
#endif
#ifdef OS
#ifndef CUTS
#define CUTS 1
#endif
#ifdef CONFIRMATION_KEPT
#define KEPT(r) confirmed[r]
#else
#define KEPT(r) 0
#endif
// A power cut takes any suffix, and with its connection ends what a replica confirmed of it. And
// the primary has seen that a doubtful replica has all that is committed.
#define CUT(r, i) \
  :: d_step { cuts < CUTS && (i == 0 || HOLDS(r, i)) -> \
     cuts++; forget(r); PROMISE_LOST(r) \
     last[r] = i; confirmed[r] = KEPT(r) | history[i]; doubtful[r] = 1 }
#define DISK(r) CUT(r, 0) CUT(r, 1) CUT(r, 2) CUT(r, 3) CUT(r, 4)
#define TRUST(p, f) \
  :: d_step { leads[p] && phase[p] >= WAITS && doubtful[f] && promised[f] == leads[p] && \
     (last[p] == 0 || HOLDS(f, last[p])) -> doubtful[f] = 0 }
#else
#define DISK(r) SYNC(r)
#define TRUST(p, f)
#endif

init {
  d_step {
    promised[0] = 1; promised[1] = 1; promised[2] = 1;
    leads[0] = 1; phase[0] = SERVES; known[0] = 7;
  }
  do
  :: atomic { if
  OF_ONE(0, 1, 2) OF_ONE(1, 0, 2) OF_ONE(2, 0, 1)
  OF_TWO(0, 1) OF_TWO(0, 2) OF_TWO(1, 0) OF_TWO(1, 2) OF_TWO(2, 0) OF_TWO(2, 1)
  fi; d_step { done() } }
  od
}
