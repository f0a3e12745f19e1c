/* A model of how objects are collected while several servers run and crash; ops/model checks it with Spin.
 *
 * Each atomic{} on row or cur is one transaction of the database. An access to the object store is a step of its
 * own: a PUT that was sent lands at any later moment or never, also after its sender was killed. A sender may stand
 * still for hours between two steps.
 *   -DLOCAL  the store is a directory: a PUT lands by link(tmp, key), which fails once tmp is gone
 *   -DPARTA  two writers, a reader, two collectors; -DPARTB  one writer, the same, and the auditor
 *   -DKILLS  the number of processes that are killed
 *   -DBUG=n  breaks the design in one way, and Spin must find an error; 0 is the design
 *     1 the collector lists the store and deletes what no file names, without looking at reservations
 *     2 the commit does not consume its reservation
 *     3 the garbage row is deleted before the object, and nothing lists the store
 *     4 nothing lists the store: an object that lands after its row went stays for ever
 *     5 garbage is deleted at once, while downloads still read it
 *     6 a repeated upload writes under the key of the first
 *     7 the collector decides by rows that it read in an earlier transaction
 *     8 the commit does not wait for the store's answer
 *     9 the replaced content becomes garbage in a transaction after the commit
 *    10 the auditor reads the rows first and lists the store afterwards
 */
#ifndef BUG
#define BUG 0
#endif
#define NONE 0
#define RESERVED 1
#define LIVE 2
#define KEPT 3                    /* an earlier version: can be restored */
#define GARBAGE 4                 /* never comes back */
#define GONE 5
/* keys: 0 is the first content, 1 and 2 are two uploads that replace it */
byte row[3]; bool obj[3]; bool tmp[3]; bool flying[3]; bool told[3]; byte pinned[3];
byte cur = 0; byte crashes = 0;
#ifdef PARTA                      /* two writers, no auditor */
byte alive = 6;
#else
#ifdef PARTB                      /* one writer, two collectors, the auditor */
byte alive = 6;
#else
byte alive = 7;
#endif
#endif
bool begun = false;
#define KEY(i) ((BUG==6) -> 1 : (i))
#ifndef KILLS
#define KILLS 1
#endif
#define MAYCRASH (crashes < KILLS)
#define CRASH crashes++
#ifdef LOCAL
#define PUTLANDS(k) tmp[k]
#else
#define PUTLANDS(k) true
#endif

active proctype Network() {       /* PUTs land or get lost, late or early */
end: do
  :: atomic { flying[1] -> flying[1] = false; if :: (PUTLANDS(1)) -> obj[1] = true :: true -> skip fi }
  :: atomic { flying[2] -> flying[2] = false; if :: (PUTLANDS(2)) -> obj[2] = true :: true -> skip fi }
  od
}

proctype Writer(byte i) {
  byte k, old;
  atomic { k = KEY(i); if :: row[k] == NONE || (BUG == 6 && row[k] != LIVE && row[k] != KEPT) -> row[k] = RESERVED :: else -> goto out fi };
  if                                                  /* perhaps hours later */
  :: atomic { flying[k] = true; tmp[k] = true }
  :: atomic { MAYCRASH -> CRASH; goto out }
  fi;
  if
#if BUG == 8
  :: skip
#endif
  :: obj[k]                                           /* answered: durable */
  :: goto abandon                                     /* deadline, hang-up, superseded */
  :: atomic { MAYCRASH -> CRASH; goto out }           /* kill -9 */
  fi;
  if
  :: atomic { row[k] == RESERVED || BUG == 2 ->       /* the commit */
       old = cur; cur = k; row[k] = LIVE; told[i] = true;
#if BUG != 9
       if :: old != k -> row[old] = KEPT :: else fi; old = 0; goto out
#endif
     }
  :: atomic { row[k] != RESERVED && BUG != 2 -> goto abandon }   /* refused: expired or superseded */
  :: atomic { MAYCRASH -> CRASH; goto out }
  fi;
#if BUG == 9
  if :: atomic { row[old] = KEPT; goto out } :: atomic { MAYCRASH -> CRASH; goto out } fi;
#endif
abandon:
  if
  :: atomic { row[k] == RESERVED || row[k] == GONE -> row[k] = GARBAGE }
  :: atomic { row[k] != RESERVED && row[k] != GONE -> skip }
  :: atomic { MAYCRASH -> CRASH; goto out }
  fi;
out: atomic { k = 0; old = 0; alive-- }
}

proctype Clock() {                /* reservations and earlier versions expire at any time; a user restores version 0 */
  byte old;
  do
  :: atomic { row[1] == RESERVED -> row[1] = GARBAGE }
  :: atomic { row[2] == RESERVED -> row[2] = GARBAGE }
  :: atomic { row[0] == KEPT -> row[0] = GARBAGE }
  :: atomic { row[1] == KEPT -> row[1] = GARBAGE }
  :: atomic { row[0] == KEPT -> old = cur; row[old] = KEPT; row[0] = LIVE; cur = 0; told[1] = false; told[2] = false; old = 0 }
  :: break
  od;
  alive--
}

proctype Reader() {
  byte k;
  atomic { k = cur; pinned[k]++ };                    /* reads the row; the grace counts from here */
  assert(obj[k]);                                     /* opens */
  assert(obj[k]);                                     /* and continues to read (S3: by key, range by range) */
  atomic { pinned[k]--; k = 0; alive-- }
}

#define DUE(k) (BUG == 5 || pinned[k] == 0)           /* the grace is longer than the longest download */

#ifdef LOCAL                     /* tmp first: after that no link can succeed */
#define WIPE tmp[k] = false; obj[k] = false
#else
#define WIPE obj[k] = false
#endif
#define FORGET if :: atomic { row[k] == GARBAGE -> row[k] = GONE; k = 0 } :: atomic { row[k] != GARBAGE -> k = 0 } :: atomic { MAYCRASH -> CRASH; goto out } fi
#if BUG == 3
#define COLLECT if :: atomic { row[k] == GARBAGE -> row[k] = GONE } :: atomic { row[k] != GARBAGE -> skip } fi; if :: WIPE; k = 0 :: atomic { MAYCRASH -> CRASH; goto out } fi
#else
#define COLLECT WIPE; FORGET      /* idempotent: two collectors may both do it */
#endif
#define LIST if :: atomic { row[k] != LIVE && row[k] != KEPT -> skip }; obj[k] = false; k = 0 :: atomic { row[k] == LIVE || row[k] == KEPT -> k = 0 } fi
#define AUDIT if :: atomic { row[k] == NONE || row[k] == GONE -> skip }; WIPE; k = 0 :: atomic { row[k] != NONE && row[k] != GONE -> k = 0 } fi

proctype Collector() {
  byte k;
  do
  :: atomic { break }
#if BUG == 1
  :: atomic { obj[0] -> k = 0 }; LIST
  :: atomic { obj[1] -> k = 1 }; LIST
  :: atomic { obj[2] -> k = 2 }; LIST
#elif BUG == 7                                        /* reads rows, acts later */
  :: atomic { (row[0] == KEPT || row[0] == GARBAGE) && DUE(0) -> k = 0 }; WIPE; atomic { row[k] = GONE; k = 0 }
  :: atomic { (row[1] == KEPT || row[1] == GARBAGE) && DUE(1) -> k = 1 }; WIPE; atomic { row[k] = GONE; k = 0 }
  :: atomic { (row[2] == KEPT || row[2] == GARBAGE) && DUE(2) -> k = 2 }; WIPE; atomic { row[k] = GONE; k = 0 }
#else
  :: atomic { row[0] == GARBAGE && DUE(0) -> k = 0 }; COLLECT
  :: atomic { row[1] == GARBAGE && DUE(1) -> k = 1 }; COLLECT
  :: atomic { row[2] == GARBAGE && DUE(2) -> k = 2 }; COLLECT
#endif
  od;
out: atomic { k = 0; alive-- }
}

proctype Auditor() {              /* lists the store, THEN reads the row of each key: needs no grace */
  byte k;
  do
  :: atomic { break }
#if BUG == 10
  :: atomic { (row[1] == NONE || row[1] == GONE) -> k = 1 }; if :: obj[k] -> obj[k] = false :: else fi; k = 0
  :: atomic { (row[2] == NONE || row[2] == GONE) -> k = 2 }; if :: obj[k] -> obj[k] = false :: else fi; k = 0
#else
  :: atomic { (obj[0] || tmp[0]) -> k = 0 }; AUDIT
  :: atomic { (obj[1] || tmp[1]) -> k = 1 }; AUDIT
  :: atomic { (obj[2] || tmp[2]) -> k = 2 }; AUDIT
#endif
  od;
  atomic { k = 0; alive-- }
}

proctype Last() {                 /* an instance that starts after all this and does not crash */
  byte k;
  alive == 0 && !flying[1] && !flying[2];
  atomic {
  for (k : 0 .. 2) {
     if :: row[k] == RESERVED || row[k] == KEPT -> row[k] = GARBAGE :: else -> skip fi;
     if :: row[k] == GARBAGE -> tmp[k] = false; obj[k] = false; row[k] = GONE :: else -> skip fi;
#if BUG != 3 && BUG != 4
     if :: obj[k] && (row[k] == NONE || row[k] == GONE) -> obj[k] = false :: else -> skip fi
#endif
  }
  assert(row[cur] == LIVE && obj[cur]);               /* I1 */
  for (k : 0 .. 2) { assert(!obj[k] || row[k] == LIVE); assert(row[k] != LIVE || k == cur) }   /* I3: nothing is left */
  if                                                  /* I4: an upload that got 200 is current, or another that got 200 replaced it */
  :: told[1] && told[2] -> assert(cur == KEY(1) || cur == KEY(2))
  :: told[1] && !told[2] -> assert(cur == KEY(1))
  :: !told[1] && told[2] -> assert(cur == KEY(2))
  :: else -> assert(cur == 0)
  fi }
}

init {
  atomic {
    row[0] = LIVE; obj[0] = true; begun = true;
    run Writer(1);
#ifndef PARTB
    run Writer(2);
#endif
    run Clock(); run Reader(); run Collector(); run Collector();
#ifndef PARTA
    run Auditor();
#endif
    run Last()
  }
}
ltl live { [] (begun -> obj[cur]) }   /* I2: a committed document never lacks its object */
