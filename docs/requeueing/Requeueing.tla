----------------------------- MODULE Requeueing -----------------------------
(* The queue of docs/requeueing.md, in small: one node with a number of      *)
(* places, pods that take one place each and all have the same priority, one *)
(* plugin that rejects a pod when there is no place, and one that gates it.  *)
(* The numbers of rules are those of that page.                              *)
EXTENDS Integers, Sequences, FiniteSets

CONSTANTS Pods,     \* names of pods
          Places,   \* how many places the node has when it is empty
          Limit,    \* how many events the log for pods in flight holds
          Changes   \* how often users change something

VARIABLES
    exists,   \* exists[p]: the API server has the pod
    gated,    \* gated[p]: it has a scheduling gate
    bound,    \* bound[p]: it has the node, as the API server has it
    pool,     \* pool[p]: where the queue has it
    attempt,  \* attempt[p]: how far its attempt is
    room,     \* how many places are free in the cache
    saw,      \* saw[p]: how many were free in the snapshot of its attempt
    log,      \* the events kept for pods in flight, oldest first
    since,    \* since[p]: how many events of the log came before it was popped
    lost,     \* lost[p]: the log overflowed since it was popped
    pending,  \* what the API server knows and the event handlers do not
    left      \* how many changes are left

vars == <<exists, gated, bound, pool, attempt, room, saw, log, since, lost, pending, left>>

Pools    == {"none", "active", "backoff", "unschedulable", "gated"}
Attempts == {"none", "cycle", "binding"}
Events   == {"freed"} \X Pods \cup {"ungated"} \X Pods

TypeOK ==
    /\ exists \in [Pods -> BOOLEAN] /\ gated \in [Pods -> BOOLEAN] /\ bound \in [Pods -> BOOLEAN]
    /\ pool \in [Pods -> Pools] /\ attempt \in [Pods -> Attempts]
    /\ room \in 0..Places /\ saw \in [Pods -> 0..Places]
    /\ log \in Seq(Events) /\ since \in [Pods -> Nat] /\ lost \in [Pods -> BOOLEAN]
    /\ pending \in Seq(Events) /\ left \in 0..Changes

Init ==
    /\ exists = [p \in Pods |-> TRUE] /\ gated \in [Pods -> BOOLEAN] /\ bound = [p \in Pods |-> FALSE]
    /\ pool = [p \in Pods |-> IF gated[p] THEN "gated" ELSE "active"]
    /\ attempt = [p \in Pods |-> "none"]
    /\ room = Places /\ saw = [p \in Pods |-> 0]
    /\ log = <<>> /\ since = [p \in Pods |-> 0] /\ lost = [p \in Pods |-> FALSE]
    /\ pending = <<>> /\ left = Changes

-----------------------------------------------------------------------------
(* The log (rules 11 and 12).                                                *)

Cycling == {p \in Pods : attempt[p] = "cycle"}

\* What of the log is still needed when only the pods in s are in flight.
Needed(s) == LET kept == {p \in s : ~lost[p]}
             IN IF kept = {} THEN Len(log)
                ELSE CHOOSE n \in {since[p] : p \in kept} : \A p \in kept : n <= since[p]

\* The pods in s are in flight from now on, and e, a sequence of at most one event, happened.
Keep(s, e) ==
    LET drop == IF s = {} THEN Len(log) ELSE Needed(s)
        rest == SubSeq(log, drop + 1, Len(log))
        all  == IF s = {} THEN <<>> ELSE rest \o e
        over == IF Len(all) > Limit THEN Len(all) - Limit ELSE 0
    IN /\ log' = SubSeq(all, over + 1, Len(all))
       /\ lost' = [p \in Pods |-> p \in s /\ (lost[p] \/ since[p] - drop < over)]
       /\ since' = [p \in Pods |-> IF p \in s /\ since[p] >= drop + over THEN since[p] - drop - over ELSE 0]

\* An event in mid-attempt helps a pod that there was no place for.
Helped(p) == lost[p] \/ \E i \in since[p] + 1..Len(log) : log[i][1] = "freed"

-----------------------------------------------------------------------------
(* Users, and the API server.                                                *)

Change == left > 0 /\ left' = left - 1

\* A bound pod ends.
End(p) ==
    /\ Change /\ exists[p] /\ bound[p]
    /\ exists' = [exists EXCEPT ![p] = FALSE] /\ bound' = [bound EXCEPT ![p] = FALSE]
    /\ pending' = Append(pending, <<"freed", p>>)
    /\ UNCHANGED <<gated, pool, attempt, room, saw, log, since, lost>>

Ungate(p) ==
    /\ Change /\ exists[p] /\ gated[p]
    /\ gated' = [gated EXCEPT ![p] = FALSE]
    /\ pending' = Append(pending, <<"ungated", p>>)
    /\ UNCHANGED <<exists, bound, pool, attempt, room, saw, log, since, lost>>

-----------------------------------------------------------------------------
(* Event handlers: the cache first, then the queue (rules 7 to 10 and 13).   *)

Wakes(e, p) == \/ pool[p] = "unschedulable" /\ e[1] = "freed"
               \/ pool[p] = "gated" /\ e = <<"ungated", p>>

Deliver ==
    /\ pending # <<>>
    /\ LET e == Head(pending)
       IN /\ pending' = Tail(pending)
          /\ room' = IF e[1] = "freed" THEN room + 1 ELSE room
          /\ pool' = [p \in Pods |-> IF Wakes(e, p) THEN IF pool[p] = "gated" THEN "active" ELSE "backoff" ELSE pool[p]]
          /\ Keep(Cycling, <<e>>)
    /\ UNCHANGED <<exists, gated, bound, attempt, saw, left>>

BackoffEnds(p) ==
    /\ pool[p] = "backoff"
    /\ pool' = [pool EXCEPT ![p] = "active"]
    /\ UNCHANGED <<exists, gated, bound, attempt, room, saw, log, since, lost, pending, left>>

-----------------------------------------------------------------------------
(* Attempts (rules 3 and 14 to 19). There is one scheduling cycle at a time. *)

Pop(p) ==
    /\ pool[p] = "active" /\ Cycling = {}
    /\ pool' = [pool EXCEPT ![p] = "none"] /\ attempt' = [attempt EXCEPT ![p] = "cycle"]
    /\ saw' = [saw EXCEPT ![p] = room]
    /\ since' = [since EXCEPT ![p] = Len(log)] /\ lost' = [lost EXCEPT ![p] = FALSE]
    /\ UNCHANGED <<exists, gated, bound, room, log, pending, left>>

Reject(p) ==
    /\ attempt[p] = "cycle" /\ saw[p] = 0
    /\ attempt' = [attempt EXCEPT ![p] = "none"]
    /\ pool' = [pool EXCEPT ![p] = IF Helped(p) THEN "backoff" ELSE "unschedulable"]
    /\ Keep(Cycling \ {p}, <<>>)
    /\ UNCHANGED <<exists, gated, bound, room, saw, pending, left>>

Assume(p) ==
    /\ attempt[p] = "cycle" /\ saw[p] > 0
    /\ attempt' = [attempt EXCEPT ![p] = "binding"]
    /\ room' = room - 1
    /\ Keep(Cycling \ {p}, <<>>)
    /\ UNCHANGED <<exists, gated, bound, pool, saw, pending, left>>

Bind(p) ==
    /\ attempt[p] = "binding"
    /\ attempt' = [attempt EXCEPT ![p] = "none"] /\ bound' = [bound EXCEPT ![p] = TRUE]
    /\ UNCHANGED <<exists, gated, pool, room, saw, log, since, lost, pending, left>>

\* The place is free again, which is announced before the pod comes back.
BindFails(p) ==
    /\ Change /\ attempt[p] = "binding"
    /\ attempt' = [attempt EXCEPT ![p] = "none"]
    /\ room' = room + 1
    /\ pool' = [q \in Pods |-> IF q = p THEN "backoff" ELSE IF pool[q] = "unschedulable" THEN "backoff" ELSE pool[q]]
    /\ Keep(Cycling, <<<<"freed", p>>>>)
    /\ UNCHANGED <<exists, gated, bound, saw, pending>>

-----------------------------------------------------------------------------

Next == \/ Deliver
        \/ \E p \in Pods : End(p) \/ Ungate(p) \/ BackoffEnds(p) \/ Pop(p) \/ Reject(p) \/ Assume(p) \/ Bind(p) \/ BindFails(p)

Fairness == /\ WF_vars(Deliver)
            /\ \A p \in Pods : /\ WF_vars(BackoffEnds(p)) /\ SF_vars(Pop(p))
                               /\ WF_vars(Reject(p)) /\ WF_vars(Assume(p)) /\ WF_vars(Bind(p))

Spec == Init /\ [][Next]_vars /\ Fairness

-----------------------------------------------------------------------------
(* Safety.                                                                   *)

\* S1, S2.
OnePlace == \A p \in Pods : exists[p] =>
    Cardinality({x \in {<<1, pool[p] # "none">>, <<2, attempt[p] # "none">>, <<3, bound[p]>>} : x[2]}) = 1

\* S3.
Bounded == Len(log) <= Limit /\ (Cycling = {} => log = <<>>)

\* S6.
Capacity == Cardinality({p \in Pods : bound[p] \/ attempt[p] = "binding"}) <= Places

(* Liveness without a flush: L1 and L3.                                      *)

Attempted == \A p \in Pods :
    ~<>[](exists[p] /\ ~gated[p] /\ room > 0 /\ pool[p] \in {"unschedulable", "gated"})
=============================================================================
