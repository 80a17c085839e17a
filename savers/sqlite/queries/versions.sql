-- Versions of threads, and their readable states.
-- pos is log_no << 28 | seq, and 0xfffffff the largest seq.

-- name: version
-- Reads a version of a thread.
-- parameters: thread_no, number
-- returns: root, status, updated, released
SELECT root, status, updated, released
FROM graph_version
WHERE thread_no = ?1 AND number = ?2;

-- name: versions
-- Lists the versions of a thread with their record counts and heads, oldest first.
-- parameters: thread_key
-- returns: number, status, released, records, head
SELECT v.number, CASE WHEN v.number = t.version THEN t.status ELSE v.status END AS status, v.released,
	(SELECT COUNT(*) FROM graph_checkpoint c WHERE c.pos BETWEEN v.root << 28 AND (v.root << 28 | 0xfffffff))
		+ (SELECT COALESCE(SUM(p.records), 0) FROM graph_pack p WHERE p.pos BETWEEN v.root << 28 AND (v.root << 28 | 0xfffffff)) AS records,
	(SELECT c.id FROM graph_checkpoint c WHERE c.pos BETWEEN v.root << 28 AND (v.root << 28 | 0xfffffff)
		ORDER BY c.pos DESC LIMIT 1) AS head
FROM graph_thread t JOIN graph_version v ON v.thread_no = t.thread_no
WHERE t.thread_key = ?1
ORDER BY v.number;

-- name: released_versions
-- Lists the released versions of a thread, oldest first.
-- parameters: thread_no
-- returns: number, root
SELECT number, root
FROM graph_version
WHERE thread_no = ?1 AND released > 0
ORDER BY number;

-- name: last_released_version
-- Reads the newest released version of a thread.
-- parameters: thread_no
-- returns: number, root
SELECT number, root
FROM graph_version
WHERE thread_no = ?1 AND released > 0
ORDER BY number DESC LIMIT 1;

-- name: insert_version
-- Inserts the open version of a thread.
-- parameters: thread_no, number, root, status, updated
INSERT INTO graph_version (thread_no, number, root, status, updated, released)
VALUES (?1, ?2, ?3, ?4, ?5, 0);

-- name: release_version
-- Makes the open version of a thread a released one.
-- parameters: status, updated, released, thread_no, number
UPDATE graph_version
SET status = ?1, updated = ?2, released = ?3
WHERE thread_no = ?4 AND number = ?5;

-- name: put_state
-- Stores the readable state of a version when a run ends.
-- parameters: thread_no, version, seq, state_json
INSERT INTO graph_state (thread_no, version, seq, state_json) VALUES (?1, ?2, ?3, ?4)
ON CONFLICT (thread_no, version) DO UPDATE SET seq = excluded.seq, state_json = excluded.state_json;
