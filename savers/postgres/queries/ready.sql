-- Threads that are due.

-- name: ready
-- Lists the threads of a graph by wake, from low on, due or not: up to limit of each priority. If
-- there is none, it returns the time alone. The function is in the folder schema.
-- parameters: graph, low, limit
-- returns: now, thread_no, thread_key, status, priority, wake, lease_until, fence,
--   attempts, posted, labels
SELECT now, thread_no, thread_key, status, priority, wake, lease_until, fence, attempts, posted, labels
FROM graph_ready($1, $2, $3)
	r(now, thread_no, thread_key, status, priority, wake, lease_until, fence, attempts, posted, labels);

-- name: reserve_due
-- Moves the wakes of threads that are still due. Those of free are due again reserve microseconds
-- from now, or when their lease ends. Those of leased are due when their lease ends, and stay as they
-- are if it has ended. The function is in the folder schema. It leaves out threads that another
-- transaction has locked. It returns the threads that it moved, with the wakes that they had. free
-- and leased are arrays of thread_no.
-- parameters: graph, free, leased, due, reserve
-- returns: now, thread_no, thread_key, status, priority, wake, lease_until, fence,
--   attempts, posted, labels
SELECT now, thread_no, thread_key, status, priority, wake, lease_until, fence, attempts, posted, labels
FROM graph_reserve($1, CAST($2 AS bigint[]), CAST($3 AS bigint[]), $4, $5)
	r(now, thread_no, thread_key, status, priority, wake, lease_until, fence, attempts, posted, labels);

-- name: lock_ready
-- Lists the threads of a graph and a priority whose wake is from low to due, and locks them until
-- the transaction ends. It leaves out those that another transaction has locked.
-- parameters: graph, priority, low, due, limit
-- returns: now, thread_no, thread_key, status, priority, wake, lease_until, fence,
--   attempts, posted, labels
SELECT CAST(extract(epoch from clock_timestamp()) * 1000000 AS bigint) AS now,
	thread_no, thread_key, status, priority, wake, lease_until, fence, attempts, posted, labels
FROM graph_thread
WHERE graph = $1 AND priority = $2 AND wake >= $3 AND wake > 0 AND wake <= $4
ORDER BY wake, thread_no LIMIT $5
FOR UPDATE SKIP LOCKED;

-- name: reserve
-- Moves the wake of threads; that of a thread with a live lease to the end of the lease. threads is
-- a JSON array of thread_no. The commit does not wait for the disk: if a crash of the server loses it,
-- the threads are due earlier.
-- parameters: wake, threads
UPDATE graph_thread
SET wake = CASE WHEN lease_until > CAST(extract(epoch from clock_timestamp()) * 1000000 AS bigint) THEN lease_until ELSE $1 END
WHERE thread_no = ANY (CAST(translate($2, '[]', '{}') AS bigint[]))
	AND (SELECT set_config('synchronous_commit', 'off', true)) = 'off';
