-- Threads with an open version or with inputs, a page at a time.

-- name: threads
-- Lists threads in the order of their keys: from first_key up to, but without, end_key.
-- parameters: first_key, end_key, released, limit
-- returns: thread_key, version, versions, status, holder, lease_until, updated, asked,
--   root, created, graph, title, labels, wake, attempts, posted, inputs, others, cancels, priority,
--   now, head, step
SELECT t.thread_key, t.version, t.versions, t.status, t.holder, t.lease_until, t.updated, t.asked,
	t.root, t.created, t.graph, t.title, t.labels, t.wake, t.attempts, t.posted, t.inputs, t.others, t.cancels, t.priority,
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AS now,
	(SELECT h.id FROM graph_checkpoint h WHERE h.log_no = t.root
		ORDER BY h.seq DESC LIMIT 1) AS head,
	(SELECT h.step FROM graph_checkpoint h WHERE h.log_no = t.root
		ORDER BY h.seq DESC LIMIT 1) AS step
FROM graph_thread t FORCE INDEX (graph_thread_key)
WHERE t.thread_key >= ? AND t.thread_key < ? AND t.version + t.inputs + t.versions * ? > 0
ORDER BY t.thread_key LIMIT ?;

-- name: newest
-- Lists threads, newest first: those created between since and until. Of those created at until, it
-- lists only keys before last_key. A NULL filter selects all.
-- parameters: since, until, until, last_key, first_key, end_key, released, status, idle_since,
--   idle_since, limit
-- returns: thread_key, version, versions, status, holder, lease_until, updated, asked,
--   root, created, graph, title, labels, wake, attempts, posted, inputs, others, cancels, priority,
--   now, head, step
SELECT t.thread_key, t.version, t.versions, t.status, t.holder, t.lease_until, t.updated, t.asked,
	t.root, t.created, t.graph, t.title, t.labels, t.wake, t.attempts, t.posted, t.inputs, t.others, t.cancels, t.priority,
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AS now,
	(SELECT h.id FROM graph_checkpoint h WHERE h.log_no = t.root
		ORDER BY h.seq DESC LIMIT 1) AS head,
	(SELECT h.step FROM graph_checkpoint h WHERE h.log_no = t.root
		ORDER BY h.seq DESC LIMIT 1) AS step
FROM graph_thread t FORCE INDEX (graph_thread_created)
WHERE t.created >= ? AND t.created <= ?
AND (t.created < ? OR t.thread_key < ?)
AND t.thread_key >= ? AND t.thread_key < ? AND t.version + t.inputs + t.versions * ? > 0
AND t.status = COALESCE(CAST(? AS SIGNED), t.status)
AND (CAST(? AS SIGNED) IS NULL OR t.updated < ? AND t.lease_until <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))
ORDER BY t.created DESC, t.thread_key DESC LIMIT ?;

-- name: newest_by_status
-- Lists the threads of a status, as newest does.
-- parameters: status, since, until, until, last_key, first_key, end_key, released, graph,
--   idle_since, idle_since, limit
-- returns: thread_key, version, versions, status, holder, lease_until, updated, asked,
--   root, created, graph, title, labels, wake, attempts, posted, inputs, others, cancels, priority,
--   now, head, step
SELECT t.thread_key, t.version, t.versions, t.status, t.holder, t.lease_until, t.updated, t.asked,
	t.root, t.created, t.graph, t.title, t.labels, t.wake, t.attempts, t.posted, t.inputs, t.others, t.cancels, t.priority,
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AS now,
	(SELECT h.id FROM graph_checkpoint h WHERE h.log_no = t.root
		ORDER BY h.seq DESC LIMIT 1) AS head,
	(SELECT h.step FROM graph_checkpoint h WHERE h.log_no = t.root
		ORDER BY h.seq DESC LIMIT 1) AS step
FROM graph_thread t FORCE INDEX (graph_thread_status)
WHERE t.status = ? AND t.created >= ? AND t.created <= ?
AND (t.created < ? OR t.thread_key < ?)
AND t.thread_key >= ? AND t.thread_key < ? AND t.version + t.inputs + t.versions * ? > 0
AND t.graph = COALESCE(CAST(? AS BINARY), t.graph)
AND (CAST(? AS SIGNED) IS NULL OR t.updated < ? AND t.lease_until <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))
ORDER BY t.created DESC, t.thread_key DESC LIMIT ?;

-- name: newest_by_graph
-- Lists the threads of a graph, as newest does.
-- parameters: graph, since, until, until, last_key, first_key, end_key, released, status,
--   idle_since, idle_since, limit
-- returns: thread_key, version, versions, status, holder, lease_until, updated, asked,
--   root, created, graph, title, labels, wake, attempts, posted, inputs, others, cancels, priority,
--   now, head, step
SELECT t.thread_key, t.version, t.versions, t.status, t.holder, t.lease_until, t.updated, t.asked,
	t.root, t.created, t.graph, t.title, t.labels, t.wake, t.attempts, t.posted, t.inputs, t.others, t.cancels, t.priority,
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AS now,
	(SELECT h.id FROM graph_checkpoint h WHERE h.log_no = t.root
		ORDER BY h.seq DESC LIMIT 1) AS head,
	(SELECT h.step FROM graph_checkpoint h WHERE h.log_no = t.root
		ORDER BY h.seq DESC LIMIT 1) AS step
FROM graph_thread t FORCE INDEX (graph_thread_graph)
WHERE t.graph = ? AND t.created >= ? AND t.created <= ?
AND (t.created < ? OR t.thread_key < ?)
AND t.thread_key >= ? AND t.thread_key < ? AND t.version + t.inputs + t.versions * ? > 0
AND t.status = COALESCE(CAST(? AS SIGNED), t.status)
AND (CAST(? AS SIGNED) IS NULL OR t.updated < ? AND t.lease_until <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))
ORDER BY t.created DESC, t.thread_key DESC LIMIT ?;

-- name: newest_by_label
-- Lists the threads with a label, as newest does.
-- parameters: name, value, since, until, until, last_key, first_key, end_key, released, status,
--   graph, idle_since, idle_since, limit
-- returns: thread_key, version, versions, status, holder, lease_until, updated, asked,
--   root, created, graph, title, labels, wake, attempts, posted, inputs, others, cancels, priority,
--   now, head, step
SELECT t.thread_key, t.version, t.versions, t.status, t.holder, t.lease_until, t.updated, t.asked,
	t.root, t.created, t.graph, t.title, t.labels, t.wake, t.attempts, t.posted, t.inputs, t.others, t.cancels, t.priority,
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AS now,
	(SELECT h.id FROM graph_checkpoint h WHERE h.log_no = t.root
		ORDER BY h.seq DESC LIMIT 1) AS head,
	(SELECT h.step FROM graph_checkpoint h WHERE h.log_no = t.root
		ORDER BY h.seq DESC LIMIT 1) AS step
FROM graph_label l FORCE INDEX (PRIMARY)
	STRAIGHT_JOIN graph_thread t ON t.thread_key = l.thread_key
WHERE l.name = ? AND l.value = ? AND l.created >= ? AND l.created <= ?
AND (l.created < ? OR l.thread_key < ?)
AND l.thread_key >= ? AND l.thread_key < ? AND t.version + t.inputs + t.versions * ? > 0
AND t.status = COALESCE(CAST(? AS SIGNED), t.status)
AND t.graph = COALESCE(CAST(? AS BINARY), t.graph)
AND (CAST(? AS SIGNED) IS NULL OR t.updated < ? AND t.lease_until <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))
ORDER BY l.created DESC, l.thread_key DESC LIMIT ?;

-- name: count_keys
-- Counts the threads whose keys are in a range, up to 1000.
-- parameters: first_key, end_key
-- returns: keyed
SELECT COUNT(*) AS keyed
FROM (SELECT 1 AS one FROM graph_thread WHERE thread_key >= ? AND thread_key < ? LIMIT 1000) few;

-- name: questions
-- Reads the questions and answers of versions. roots is a JSON array of the logs of their roots.
-- parameters: roots
-- returns: root, data
SELECT graph_write.root, graph_write.data
FROM JSON_TABLE(?, '$[*]' COLUMNS (root BIGINT PATH '$')) r
	STRAIGHT_JOIN graph_write ON graph_write.root = r.root
WHERE graph_write.kind IN (2, 3) -- questions and answers
AND NOT EXISTS (
	SELECT 1 FROM graph_checkpoint b LEFT JOIN graph_checkpoint n ON n.log_no = b.log_no AND n.seq = b.seq + 1
	WHERE b.root = graph_write.root AND b.id = graph_write.base
	AND (b.marked_committed OR n.commits_previous)
)
ORDER BY graph_write.write_no;
