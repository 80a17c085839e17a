-- Threads that are due.

-- name: ready
-- Lists the threads of a graph by wake, from low on, due or not: up to limit of each priority. If
-- there is none, it returns the time alone.
-- parameters: graph, low, limit
-- returns: now, thread_no, thread_key, status, priority, wake, lease_until, fence,
--   attempts, posted, labels
SELECT c.now, t.thread_no, t.thread_key, t.status, t.priority, t.wake, t.lease_until, t.fence, t.attempts, t.posted, t.labels
FROM (SELECT CAST(unixepoch('subsec') * 1000000 AS INTEGER) AS now) c
	LEFT JOIN (
		SELECT * FROM (SELECT thread_no, thread_key, status, priority, wake, lease_until, fence, attempts, posted, labels
			FROM graph_thread
			WHERE graph = ?1 AND priority = 1 AND wake >= ?2 AND wake > 0
			ORDER BY wake, thread_no LIMIT +?3)
		UNION ALL
		SELECT * FROM (SELECT thread_no, thread_key, status, priority, wake, lease_until, fence, attempts, posted, labels
			FROM graph_thread
			WHERE graph = ?1 AND priority = 2 AND wake >= ?2 AND wake > 0
			ORDER BY wake, thread_no LIMIT +?3)
		UNION ALL
		SELECT * FROM (SELECT thread_no, thread_key, status, priority, wake, lease_until, fence, attempts, posted, labels
			FROM graph_thread
			WHERE graph = ?1 AND priority = 3 AND wake >= ?2 AND wake > 0
			ORDER BY wake, thread_no LIMIT +?3)
		UNION ALL
		SELECT * FROM (SELECT thread_no, thread_key, status, priority, wake, lease_until, fence, attempts, posted, labels
			FROM graph_thread
			WHERE graph = ?1 AND priority = 4 AND wake >= ?2 AND wake > 0
			ORDER BY wake, thread_no LIMIT +?3)
	) t ON 1 = 1;

-- name: lock_ready
-- Lists the threads of a graph and a priority whose wake is from low to due, and locks them until
-- the transaction ends. It leaves out those that another transaction has locked.
-- parameters: graph, priority, low, due, limit
-- returns: now, thread_no, thread_key, status, priority, wake, lease_until, fence,
--   attempts, posted, labels
SELECT CAST(unixepoch('subsec') * 1000000 AS INTEGER) AS now,
	thread_no, thread_key, status, priority, wake, lease_until, fence, attempts, posted, labels
FROM graph_thread
WHERE graph = ?1 AND priority = ?2 AND wake >= ?3 AND wake > 0 AND wake <= ?4
ORDER BY wake, thread_no LIMIT +?5;

-- name: reserve
-- Moves the wake of threads; that of a thread with a live lease to the end of the lease. threads is
-- a JSON array of thread_no.
-- parameters: wake, threads
UPDATE graph_thread
SET wake = CASE WHEN lease_until > CAST(unixepoch('subsec') * 1000000 AS INTEGER) THEN lease_until ELSE ?1 END
WHERE thread_no IN (SELECT value FROM json_each(?2));
