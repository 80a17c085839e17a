-- Threads that are due.

-- name: ready
-- Lists the threads of a graph by wake, from low on, due or not: up to limit of each priority. If
-- there is none, it returns the time alone.
-- parameters: graph, low, limit, graph, low, limit, graph, low, limit, graph, low, limit
-- returns: now, thread_no, thread_key, status, priority, wake, lease_until, fence,
--   attempts, posted, labels
SELECT c.now, t.thread_no, t.thread_key, t.status, t.priority, t.wake, t.lease_until, t.fence, t.attempts, t.posted, t.labels
FROM (SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AS now) c
	LEFT JOIN (
		(SELECT thread_no, thread_key, status, priority, wake, lease_until, fence, attempts, posted, labels
			FROM graph_thread
			WHERE graph = ? AND priority = 1 AND wake >= ? AND wake > 0
			ORDER BY wake, thread_no LIMIT ?)
		UNION ALL
		(SELECT thread_no, thread_key, status, priority, wake, lease_until, fence, attempts, posted, labels
			FROM graph_thread
			WHERE graph = ? AND priority = 2 AND wake >= ? AND wake > 0
			ORDER BY wake, thread_no LIMIT ?)
		UNION ALL
		(SELECT thread_no, thread_key, status, priority, wake, lease_until, fence, attempts, posted, labels
			FROM graph_thread
			WHERE graph = ? AND priority = 3 AND wake >= ? AND wake > 0
			ORDER BY wake, thread_no LIMIT ?)
		UNION ALL
		(SELECT thread_no, thread_key, status, priority, wake, lease_until, fence, attempts, posted, labels
			FROM graph_thread
			WHERE graph = ? AND priority = 4 AND wake >= ? AND wake > 0
			ORDER BY wake, thread_no LIMIT ?)
	) t ON 1 = 1;

-- name: lock_ready
-- Lists the threads of a graph and a priority whose wake is from low to due, and locks them until
-- the transaction ends. It leaves out those that another transaction has locked.
-- parameters: graph, priority, low, due, limit
-- returns: now, thread_no, thread_key, status, priority, wake, lease_until, fence,
--   attempts, posted, labels
SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AS now,
	thread_no, thread_key, status, priority, wake, lease_until, fence, attempts, posted, labels
FROM graph_thread
WHERE graph = ? AND priority = ? AND wake >= ? AND wake > 0 AND wake <= ?
ORDER BY wake, thread_no LIMIT ?
FOR UPDATE SKIP LOCKED;

-- name: reserve
-- Moves the wake of threads; that of a thread with a live lease to the end of the lease. threads is
-- a JSON array of thread_no.
-- parameters: threads, wake
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (no BIGINT PATH '$')) r STRAIGHT_JOIN graph_thread t ON t.thread_no = r.no
SET t.wake = CASE WHEN t.lease_until > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) THEN t.lease_until ELSE ? END;
