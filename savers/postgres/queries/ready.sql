-- Threads that are due.

-- name: ready
-- Lists the threads of a graph by wake, from low on, due or not: up to limit of each priority. If
-- there is none, it returns the time alone.
-- parameters: graph, low, limit
-- returns: now, thread_no, thread_key, thread_id, status, priority, wake, lease_until, fence,
--   attempts, posted, labels
SELECT c.now, t.thread_no, t.thread_key, t.thread_id, t.status, t.priority, t.wake, t.lease_until, t.fence, t.attempts, t.posted, t.labels
FROM (SELECT CAST(extract(epoch from clock_timestamp()) * 1000000 AS bigint) AS now) c
	LEFT JOIN (
		(SELECT thread_no, thread_key, thread_id, status, priority, wake, lease_until, fence, attempts, posted, labels
			FROM graph_thread
			WHERE graph = $1 AND priority = 1 AND wake >= $2 AND wake > 0
			ORDER BY wake, thread_no LIMIT $3)
		UNION ALL
		(SELECT thread_no, thread_key, thread_id, status, priority, wake, lease_until, fence, attempts, posted, labels
			FROM graph_thread
			WHERE graph = $1 AND priority = 2 AND wake >= $2 AND wake > 0
			ORDER BY wake, thread_no LIMIT $3)
		UNION ALL
		(SELECT thread_no, thread_key, thread_id, status, priority, wake, lease_until, fence, attempts, posted, labels
			FROM graph_thread
			WHERE graph = $1 AND priority = 3 AND wake >= $2 AND wake > 0
			ORDER BY wake, thread_no LIMIT $3)
		UNION ALL
		(SELECT thread_no, thread_key, thread_id, status, priority, wake, lease_until, fence, attempts, posted, labels
			FROM graph_thread
			WHERE graph = $1 AND priority = 4 AND wake >= $2 AND wake > 0
			ORDER BY wake, thread_no LIMIT $3)
	) t ON 1 = 1;

-- name: lock_ready
-- Lists the threads of a graph and a priority whose wake is from low to due, and locks them until
-- the transaction ends. It leaves out those that another transaction has locked.
-- parameters: graph, priority, low, due, limit
-- returns: now, thread_no, thread_key, thread_id, status, priority, wake, lease_until, fence,
--   attempts, posted, labels
SELECT CAST(extract(epoch from clock_timestamp()) * 1000000 AS bigint) AS now,
	thread_no, thread_key, thread_id, status, priority, wake, lease_until, fence, attempts, posted, labels
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
