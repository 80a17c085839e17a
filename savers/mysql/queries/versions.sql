-- Versions of threads, and their readable states.

-- name: version
-- Reads a version of a thread.
-- parameters: thread_no, number
-- returns: root, status, updated, released
SELECT root, status, updated, released
FROM graph_version
WHERE thread_no = ? AND number = ?;

-- name: versions
-- Lists the versions of a thread with their record counts and heads, oldest first.
-- parameters: thread_key
-- returns: number, status, released, records, head
SELECT v.number, CASE WHEN v.number = t.version THEN t.status ELSE v.status END AS status, v.released,
	(SELECT COUNT(*) FROM graph_checkpoint c WHERE c.log_no = v.root)
		+ (SELECT CAST(COALESCE(SUM(p.records), 0) AS SIGNED) FROM graph_pack p WHERE p.log_no = v.root) AS records,
	(SELECT c.id FROM graph_checkpoint c WHERE c.log_no = v.root
		ORDER BY c.seq DESC LIMIT 1) AS head
FROM graph_thread t JOIN graph_version v ON v.thread_no = t.thread_no
WHERE t.thread_key = ?
ORDER BY v.number;

-- name: released_versions
-- Lists the released versions of a thread, oldest first.
-- parameters: thread_no
-- returns: number, root
SELECT number, root
FROM graph_version
WHERE thread_no = ? AND released > 0
ORDER BY number;

-- name: last_released_version
-- Reads the newest released version of a thread.
-- parameters: thread_no
-- returns: number, root
SELECT number, root
FROM graph_version
WHERE thread_no = ? AND released > 0
ORDER BY number DESC LIMIT 1;

-- name: insert_version
-- Inserts the open version of a thread.
-- parameters: thread_no, number, root, status, updated
INSERT INTO graph_version (thread_no, number, root, status, updated, released)
VALUES (?, ?, ?, ?, ?, 0);

-- name: release_version
-- Makes the open version of a thread a released one.
-- parameters: status, updated, released, thread_no, number
UPDATE graph_version
SET status = ?, updated = ?, released = ?
WHERE thread_no = ? AND number = ?;

-- name: put_state
-- Stores the readable state of a version when a run ends.
-- parameters: thread_no, version, seq, state_json
INSERT INTO graph_state (thread_no, version, seq, state_json) VALUES (?, ?, ?, ?)
ON DUPLICATE KEY UPDATE seq = VALUES(seq), state_json = VALUES(state_json);
