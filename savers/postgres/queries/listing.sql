-- Threads with an open version, a page at a time.

-- name: threads
-- Lists threads in the order of their keys: from first_key up to, but without, end_key.
-- parameters: first_key, end_key, limit
-- returns: thread_key, thread_id, version, versions, status, holder, lease_until, updated, asked,
--   now, head, step
SELECT t.thread_key, t.thread_id, t.version, t.versions, t.status, t.holder, t.lease_until, t.updated, t.asked,
	CAST(extract(epoch from clock_timestamp()) * 1000000 AS bigint) AS now,
	(SELECT h.id FROM graph_checkpoint h WHERE h.log_no = t.root
		ORDER BY h.seq DESC LIMIT 1) AS head,
	(SELECT h.step FROM graph_checkpoint h WHERE h.log_no = t.root
		ORDER BY h.seq DESC LIMIT 1) AS step
FROM graph_thread t
WHERE t.thread_key >= $1 AND t.thread_key < $2 AND t.version > 0
ORDER BY t.thread_key LIMIT $3;

-- name: threads_by_status
-- Lists the threads of a status, as threads does.
-- parameters: first_key, end_key, status, limit
-- returns: thread_key, thread_id, version, versions, status, holder, lease_until, updated, asked,
--   now, head, step
SELECT t.thread_key, t.thread_id, t.version, t.versions, t.status, t.holder, t.lease_until, t.updated, t.asked,
	CAST(extract(epoch from clock_timestamp()) * 1000000 AS bigint) AS now,
	(SELECT h.id FROM graph_checkpoint h WHERE h.log_no = t.root
		ORDER BY h.seq DESC LIMIT 1) AS head,
	(SELECT h.step FROM graph_checkpoint h WHERE h.log_no = t.root
		ORDER BY h.seq DESC LIMIT 1) AS step
FROM graph_thread t
WHERE t.thread_key >= $1 AND t.thread_key < $2 AND t.version > 0
AND t.status = $3
ORDER BY t.thread_key LIMIT $4;

-- name: threads_idle
-- Lists the threads that have had no live run since a time, as threads does.
-- parameters: first_key, end_key, idle_since, limit
-- returns: thread_key, thread_id, version, versions, status, holder, lease_until, updated, asked,
--   now, head, step
SELECT t.thread_key, t.thread_id, t.version, t.versions, t.status, t.holder, t.lease_until, t.updated, t.asked,
	CAST(extract(epoch from clock_timestamp()) * 1000000 AS bigint) AS now,
	(SELECT h.id FROM graph_checkpoint h WHERE h.log_no = t.root
		ORDER BY h.seq DESC LIMIT 1) AS head,
	(SELECT h.step FROM graph_checkpoint h WHERE h.log_no = t.root
		ORDER BY h.seq DESC LIMIT 1) AS step
FROM graph_thread t
WHERE t.thread_key >= $1 AND t.thread_key < $2 AND t.version > 0
AND t.updated < $3 AND t.lease_until <= CAST(extract(epoch from clock_timestamp()) * 1000000 AS bigint)
ORDER BY t.thread_key LIMIT $4;

-- name: threads_idle_by_status
-- Lists the threads of a status that have had no live run since a time, as threads does.
-- parameters: first_key, end_key, status, idle_since, limit
-- returns: thread_key, thread_id, version, versions, status, holder, lease_until, updated, asked,
--   now, head, step
SELECT t.thread_key, t.thread_id, t.version, t.versions, t.status, t.holder, t.lease_until, t.updated, t.asked,
	CAST(extract(epoch from clock_timestamp()) * 1000000 AS bigint) AS now,
	(SELECT h.id FROM graph_checkpoint h WHERE h.log_no = t.root
		ORDER BY h.seq DESC LIMIT 1) AS head,
	(SELECT h.step FROM graph_checkpoint h WHERE h.log_no = t.root
		ORDER BY h.seq DESC LIMIT 1) AS step
FROM graph_thread t
WHERE t.thread_key >= $1 AND t.thread_key < $2 AND t.version > 0
AND t.status = $3
AND t.updated < $4 AND t.lease_until <= CAST(extract(epoch from clock_timestamp()) * 1000000 AS bigint)
ORDER BY t.thread_key LIMIT $5;

-- name: threads_few_idle
-- Lists as threads_idle_by_status does, by the index on updated. It is for when count_idle finds
-- few. A NULL status means any.
-- parameters: idle_since, first_key, end_key, status, limit
-- returns: thread_key, thread_id, version, versions, status, holder, lease_until, updated, asked,
--   now, head, step
SELECT t.thread_key, t.thread_id, t.version, t.versions, t.status, t.holder, t.lease_until, t.updated, t.asked,
	CAST(extract(epoch from clock_timestamp()) * 1000000 AS bigint) AS now,
	(SELECT h.id FROM graph_checkpoint h WHERE h.log_no = t.root
		ORDER BY h.seq DESC LIMIT 1) AS head,
	(SELECT h.step FROM graph_checkpoint h WHERE h.log_no = t.root
		ORDER BY h.seq DESC LIMIT 1) AS step
FROM (SELECT * FROM graph_thread WHERE updated < $1 ORDER BY updated LIMIT 2000) t
WHERE t.thread_key >= $2 AND t.thread_key < $3 AND t.version > 0
AND t.status = COALESCE(CAST($4 AS bigint), t.status)
AND t.lease_until <= CAST(extract(epoch from clock_timestamp()) * 1000000 AS bigint)
ORDER BY t.thread_key LIMIT $5;

-- name: count_idle
-- Counts the threads whose last run ended before a time, up to 1000.
-- parameters: idle_since
-- returns: idle
SELECT COUNT(*) AS idle
FROM (SELECT 1 AS one FROM graph_thread WHERE updated < $1 LIMIT 1000) few;

-- name: questions
-- Reads the questions and answers of a page of threads or threads_idle.
-- parameters: first_key, last_key
-- returns: thread_key, data
SELECT t.thread_key, graph_write.data
FROM graph_thread t
	JOIN graph_write ON graph_write.root = t.root
WHERE t.thread_key >= $1 AND t.thread_key <= $2 AND t.version > 0 AND t.asked
AND graph_write.kind IN (2, 3) -- questions and answers
AND NOT EXISTS (
	SELECT 1 FROM graph_checkpoint b LEFT JOIN graph_checkpoint n ON n.log_no = b.log_no AND n.seq = b.seq + 1
	WHERE b.root = graph_write.root AND b.id = graph_write.base
	AND (b.marked_committed OR n.commits_previous)
)
ORDER BY graph_write.write_no;

-- name: questions_by_status
-- Reads the questions and answers of a page of threads_by_status or threads_idle_by_status. It
-- finds the threads by the same index: between the first and the last may be many others.
-- parameters: first_key, last_key, status
-- returns: thread_key, data
SELECT t.thread_key, graph_write.data
FROM graph_thread t
	JOIN graph_write ON graph_write.root = t.root
WHERE t.thread_key >= $1 AND t.thread_key <= $2 AND t.version > 0 AND t.asked
AND graph_write.kind IN (2, 3) -- questions and answers
AND NOT EXISTS (
	SELECT 1 FROM graph_checkpoint b LEFT JOIN graph_checkpoint n ON n.log_no = b.log_no AND n.seq = b.seq + 1
	WHERE b.root = graph_write.root AND b.id = graph_write.base
	AND (b.marked_committed OR n.commits_previous)
)
AND t.status = $3
ORDER BY graph_write.write_no;

-- name: questions_few_idle
-- Reads the questions and answers of a page of threads_few_idle.
-- parameters: idle_since, first_key, last_key
-- returns: thread_key, data
SELECT t.thread_key, graph_write.data
FROM (SELECT * FROM graph_thread WHERE updated < $1 ORDER BY updated LIMIT 2000) t
	JOIN graph_write ON graph_write.root = t.root
WHERE t.thread_key >= $2 AND t.thread_key <= $3 AND t.version > 0 AND t.asked
AND graph_write.kind IN (2, 3) -- questions and answers
AND NOT EXISTS (
	SELECT 1 FROM graph_checkpoint b LEFT JOIN graph_checkpoint n ON n.log_no = b.log_no AND n.seq = b.seq + 1
	WHERE b.root = graph_write.root AND b.id = graph_write.base
	AND (b.marked_committed OR n.commits_previous)
)
ORDER BY graph_write.write_no;

-- name: read_by_index
-- Makes the rest of the transaction read by index. A server that has no statistics of its tables
-- yet would read and sort all threads for each page.
-- returns: seqscan, bitmapscan, jit
SELECT set_config('enable_seqscan', 'off', true) AS seqscan,
	set_config('enable_bitmapscan', 'off', true) AS bitmapscan,
	set_config('jit', 'off', true) AS jit;
