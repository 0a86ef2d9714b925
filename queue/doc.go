// Package queue runs tasks on Redis that nobody loses and nobody runs twice.
//
//	          Admit(quiet)                 Admit
//	               |                         |
//	               v        due              v        Lease
//	+-------> scheduled ---------------->  ready ---------------> running
//	|              |                       ^ ^ ^                   | | |
//	|              |  Wake, Input, deadline| | | Release, expiry   | | |
//	|              |           +-----------+ | +-------------------+ | |
//	|              |         parked <--------|---- Park -------------+ |
//	|              |           |             |                         |
//	+--------------|-----------|-------------|---- Retry, Snooze ------+
//	               |           |             |                         |
//	               | Cancel    | Cancel      | Cancel          Done,   | Fail, last Retry,
//	               v           v             v                 Cancel  v last worker lost
//	              done <------------------------------------------- + ---> dead -- Retry --> ready
//	                \________________ time to keep _________________________/
//	                                      v
//	                                    purged
//
// # Guarantees
//
//   - An admission is written whole or not at all: the delivery's name, the
//     tasks, their place in the index. Repeating it changes nothing. A trigger
//     joins a task of its key only while that task has never been leased, and
//     every trigger is recorded in exactly one task.
//   - One task at a time runs for a (tenant, group, serial).
//   - A lease has a token, and tokens only grow. Journal, ledger and end of a
//     run are written only with the token of the task's present lease. A worker
//     that was stopped past its lease can write nothing more. (Journals lie in
//     slots of their own and keep a copy of the fence: in a cluster whose
//     nodes' clocks differ, a lost lease may write for that difference longer,
//     but never after its successor has first looked at the journal.)
//   - A run is at least once: a handler whose worker dies is run again, and
//     reads in the journal how far the last one came. A worker that dies uses
//     none of the task's attempts.
//   - Every task that was admitted reaches exactly one end: done or dead.
//   - Tenants take turns, within a tenant its groups; a tenant has a cap of
//     running tasks. A lease looks at nothing that cannot start, so its cost
//     does not grow with tenants that are capped or paused.
//   - The clock is Redis' own. If it jumps forward, leases end early and tasks
//     run again behind their fence; if backward, delays grow by as much, and
//     leases are cut to their length.
//   - When Redis was away, leases live half a one longer, so that the ends
//     that waited for it are written and nothing runs again that was finished.
//
// These hold as far as Redis keeps what it acknowledged: Queue.Check tells what
// is set otherwise. A failover to a replica may lose the last writes.
//
// # Stored keys
//
// All of a shard's keys share the hash tag {qN}: PREFIX:{q0}:NAME.
//
//	meta   hash   mark, version, shards, counters (turn, token), pause, cap, recap
//	task   hash   ID -> head, a JSON object with its version
//	body   hash   ID -> payload of the first trigger; goes when a task is done
//	trig   hash   ID|n -> time|delivery|payload of the n-th trigger
//	open   hash   tenant|key -> the task that triggers of this key join
//	seen:… string a delivery, with the answer it got; expires
//	cron   hash   tenant|schedule -> the last slot admitted
//	line   zset   tenant|group|serial|priority|ID: ready tasks behind the first
//	front  hash   line -> priority|tag|ID of its first task, or *ID of the running one
//	shown  zset   tenant|priority|tag|ID: every task that can start
//	place  hash   tenant|priority -> tag last served; tenant|group|priority -> tag last given
//	ring   zset   tenants that can start a task, by turn; fast: the urgent ones
//	tenant hash   run|T, cap|T, pause|T
//	ready  zset   ID by the time it became ready
//	sched  zset   ID by the time it is due; park: by its deadline
//	lease  zset   ID by the end of its lease
//	wait   zset   event|ID
//	done   zset   ID by the time it is purged; dead likewise
//	by     zset   *|ID, gGROUP|ID, kKIND|ID: the index
//	in:ID  hash   key -> status|seq|time|digest|note|payload: the ledger
//	wake   list   tokens that idle workers block on
//	gone   set    purged tasks whose journals are still to be removed
//
// A journal is the list PREFIX:{ID}:journal; its first element is the fence.
// Names from outside are escaped (%XX) and may hold any bytes.
package queue
