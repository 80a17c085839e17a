-- Threads with an open version or with inputs, a page at a time.
-- pos is log_no << 28 | seq, and 0xfffffff the largest seq.
-- The index of ids holds bytes 3 to 8 of each.

-- name: threads
-- Lists threads in the order of their keys: from first_key up to, but without, end_key.
-- parameters: first_key, end_key, released, limit
-- returns: thread_key, version, versions, status, holder, lease_until, updated, asked,
--   root, created, graph, title, labels, wake, attempts, posted, inputs, others, cancels, priority,
--   now, head, step
SELECT t.thread_key, t.version, t.versions, t.status, t.holder, t.lease_until, t.updated, t.asked,
	t.root, t.created, t.graph, t.title, t.labels, t.wake, t.attempts, t.posted, t.inputs, t.others, t.cancels, t.priority,
	CAST(unixepoch('subsec') * 1000000 AS INTEGER) AS now,
	(SELECT h.id FROM graph_checkpoint h WHERE h.pos BETWEEN t.root << 28 AND (t.root << 28 | 0xfffffff)
		ORDER BY h.pos DESC LIMIT 1) AS head,
	(SELECT h.step FROM graph_checkpoint h WHERE h.pos BETWEEN t.root << 28 AND (t.root << 28 | 0xfffffff)
		ORDER BY h.pos DESC LIMIT 1) AS step
FROM graph_thread t
WHERE t.thread_key >= ?1 AND t.thread_key < ?2 AND t.version + t.inputs + t.versions * ?3 > 0
ORDER BY t.thread_key LIMIT +?4;

-- name: newest
-- Lists threads, newest first: those created between since and until. Of those created at until, it
-- lists only keys before last_key. A NULL filter selects all.
-- parameters: since, until, last_key, first_key, end_key, released, status, idle_since, limit
-- returns: thread_key, version, versions, status, holder, lease_until, updated, asked,
--   root, created, graph, title, labels, wake, attempts, posted, inputs, others, cancels, priority,
--   now, head, step
SELECT t.thread_key, t.version, t.versions, t.status, t.holder, t.lease_until, t.updated, t.asked,
	t.root, t.created, t.graph, t.title, t.labels, t.wake, t.attempts, t.posted, t.inputs, t.others, t.cancels, t.priority,
	CAST(unixepoch('subsec') * 1000000 AS INTEGER) AS now,
	(SELECT h.id FROM graph_checkpoint h WHERE h.pos BETWEEN t.root << 28 AND (t.root << 28 | 0xfffffff)
		ORDER BY h.pos DESC LIMIT 1) AS head,
	(SELECT h.step FROM graph_checkpoint h WHERE h.pos BETWEEN t.root << 28 AND (t.root << 28 | 0xfffffff)
		ORDER BY h.pos DESC LIMIT 1) AS step
FROM graph_thread t INDEXED BY graph_thread_created
WHERE t.created >= ?1 AND t.created <= ?2
AND (t.created < ?2 OR t.thread_key < ?3)
AND t.thread_key >= ?4 AND t.thread_key < ?5 AND t.version + t.inputs + t.versions * ?6 > 0
AND t.status = COALESCE(?7, t.status)
AND (?8 IS NULL OR t.updated < ?8 AND t.lease_until <= CAST(unixepoch('subsec') * 1000000 AS INTEGER))
ORDER BY t.created DESC, t.thread_key DESC LIMIT +?9;

-- name: newest_by_status
-- Lists the threads of a status that the index has, as newest does.
-- parameters: status, since, until, last_key, first_key, end_key, released, graph, idle_since,
--   limit
-- returns: thread_key, version, versions, status, holder, lease_until, updated, asked,
--   root, created, graph, title, labels, wake, attempts, posted, inputs, others, cancels, priority,
--   now, head, step
SELECT t.thread_key, t.version, t.versions, t.status, t.holder, t.lease_until, t.updated, t.asked,
	t.root, t.created, t.graph, t.title, t.labels, t.wake, t.attempts, t.posted, t.inputs, t.others, t.cancels, t.priority,
	CAST(unixepoch('subsec') * 1000000 AS INTEGER) AS now,
	(SELECT h.id FROM graph_checkpoint h WHERE h.pos BETWEEN t.root << 28 AND (t.root << 28 | 0xfffffff)
		ORDER BY h.pos DESC LIMIT 1) AS head,
	(SELECT h.step FROM graph_checkpoint h WHERE h.pos BETWEEN t.root << 28 AND (t.root << 28 | 0xfffffff)
		ORDER BY h.pos DESC LIMIT 1) AS step
FROM graph_thread t INDEXED BY graph_thread_status
WHERE t.status = ?1 AND t.created >= ?2 AND t.created <= ?3
AND (t.created < ?3 OR t.thread_key < ?4)
AND t.thread_key >= ?5 AND t.thread_key < ?6 AND t.version + t.inputs + t.versions * ?7 > 0
AND t.status NOT IN (0, 5)
AND t.graph = COALESCE(?8, t.graph)
AND (?9 IS NULL OR t.updated < ?9 AND t.lease_until <= CAST(unixepoch('subsec') * 1000000 AS INTEGER))
ORDER BY t.created DESC, t.thread_key DESC LIMIT +?10;

-- name: newest_by_graph
-- Lists the threads of a graph, as newest does.
-- parameters: graph, since, until, last_key, first_key, end_key, released, status, idle_since,
--   limit
-- returns: thread_key, version, versions, status, holder, lease_until, updated, asked,
--   root, created, graph, title, labels, wake, attempts, posted, inputs, others, cancels, priority,
--   now, head, step
SELECT t.thread_key, t.version, t.versions, t.status, t.holder, t.lease_until, t.updated, t.asked,
	t.root, t.created, t.graph, t.title, t.labels, t.wake, t.attempts, t.posted, t.inputs, t.others, t.cancels, t.priority,
	CAST(unixepoch('subsec') * 1000000 AS INTEGER) AS now,
	(SELECT h.id FROM graph_checkpoint h WHERE h.pos BETWEEN t.root << 28 AND (t.root << 28 | 0xfffffff)
		ORDER BY h.pos DESC LIMIT 1) AS head,
	(SELECT h.step FROM graph_checkpoint h WHERE h.pos BETWEEN t.root << 28 AND (t.root << 28 | 0xfffffff)
		ORDER BY h.pos DESC LIMIT 1) AS step
FROM graph_thread t INDEXED BY graph_thread_graph
WHERE t.graph = ?1 AND t.created >= ?2 AND t.created <= ?3
AND (t.created < ?3 OR t.thread_key < ?4)
AND t.thread_key >= ?5 AND t.thread_key < ?6 AND t.version + t.inputs + t.versions * ?7 > 0
AND t.status = COALESCE(?8, t.status)
AND (?9 IS NULL OR t.updated < ?9 AND t.lease_until <= CAST(unixepoch('subsec') * 1000000 AS INTEGER))
ORDER BY t.created DESC, t.thread_key DESC LIMIT +?10;

-- name: newest_by_label
-- Lists the threads with a label, as newest does.
-- parameters: name, value, since, until, last_key, first_key, end_key, released, status, graph,
--   idle_since, limit
-- returns: thread_key, version, versions, status, holder, lease_until, updated, asked,
--   root, created, graph, title, labels, wake, attempts, posted, inputs, others, cancels, priority,
--   now, head, step
SELECT t.thread_key, t.version, t.versions, t.status, t.holder, t.lease_until, t.updated, t.asked,
	t.root, t.created, t.graph, t.title, t.labels, t.wake, t.attempts, t.posted, t.inputs, t.others, t.cancels, t.priority,
	CAST(unixepoch('subsec') * 1000000 AS INTEGER) AS now,
	(SELECT h.id FROM graph_checkpoint h WHERE h.pos BETWEEN t.root << 28 AND (t.root << 28 | 0xfffffff)
		ORDER BY h.pos DESC LIMIT 1) AS head,
	(SELECT h.step FROM graph_checkpoint h WHERE h.pos BETWEEN t.root << 28 AND (t.root << 28 | 0xfffffff)
		ORDER BY h.pos DESC LIMIT 1) AS step
FROM graph_label l
	CROSS JOIN graph_thread t ON t.thread_key = l.thread_key
WHERE l.name = ?1 AND l.value = ?2 AND l.created >= ?3 AND l.created <= ?4
AND (l.created < ?4 OR l.thread_key < ?5)
AND l.thread_key >= ?6 AND l.thread_key < ?7 AND t.version + t.inputs + t.versions * ?8 > 0
AND t.status = COALESCE(?9, t.status)
AND t.graph = COALESCE(?10, t.graph)
AND (?11 IS NULL OR t.updated < ?11 AND t.lease_until <= CAST(unixepoch('subsec') * 1000000 AS INTEGER))
ORDER BY l.created DESC, l.thread_key DESC LIMIT +?12;

-- name: count_keys
-- Counts the threads whose keys are in a range, up to 1000.
-- parameters: first_key, end_key
-- returns: keyed
SELECT COUNT(*) AS keyed
FROM (SELECT 1 AS one FROM graph_thread WHERE thread_key >= ?1 AND thread_key < ?2 LIMIT 1000) few;

-- name: questions
-- Reads the questions and answers of versions. roots is a JSON array of the logs of their roots.
-- parameters: roots
-- returns: root, data
SELECT graph_write.root, graph_write.data
FROM json_each(?1) r
	CROSS JOIN graph_write ON graph_write.root = r.value
WHERE graph_write.kind IN (2, 3) -- questions and answers
AND NOT EXISTS (
	SELECT 1 FROM graph_checkpoint b LEFT JOIN graph_checkpoint n ON n.pos = b.pos + 1
	WHERE b.root = graph_write.root AND substr(b.id, 3, 6) = substr(graph_write.base, 3, 6) AND b.id = graph_write.base
	AND (b.marked_committed OR n.commits_previous)
)
ORDER BY graph_write.write_no;
