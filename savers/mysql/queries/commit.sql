-- What a run stores by one statement while the thread's row need not change. Otherwise a
-- transaction locks the row and uses the other statements.
-- ON DUPLICATE KEY UPDATE kind = VALUES(kind) changes nothing, because the key includes the kind.

-- name: commit
-- Stores a record after the head that the run knows, with that head's line. It stores nothing
-- unless all of this holds:
-- - the run holds the fence;
-- - status is the thread's status, or NULL for any;
-- - seen is the number of the newest message;
-- - the lease was given up, or ends in lease_min to lease_max microseconds;
-- - the head is the record of log_no, seq and after, is its own base, and not next_removed.
-- If another record follows the head, it has the key of the new one: the statement fails.
-- parameters: id, source, snapshot, commits_previous, step, created, body, payload, thread_no, fence,
--   status, seen, lease_min, lease_max, log_no, seq, after
INSERT INTO graph_checkpoint (log_no, seq, root, id, line_no, source, snapshot, commits_previous,
	step, created, body, payload)
SELECT h.log_no, h.seq + 1, h.root, CAST(? AS BINARY), h.line_no,
	CAST(? AS SIGNED), CAST(? AS SIGNED), CAST(? AS SIGNED),
	CAST(? AS SIGNED), CAST(? AS SIGNED), CAST(? AS BINARY), CAST(? AS BINARY)
FROM graph_thread t STRAIGHT_JOIN graph_checkpoint h ON h.root = t.root
WHERE t.thread_no = ? AND t.fence = ? AND t.status = COALESCE(CAST(? AS SIGNED), t.status) AND t.posted = ?
AND (t.lease_until = 0 OR t.lease_until - TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
	BETWEEN CAST(? AS SIGNED) AND CAST(? AS SIGNED))
AND h.log_no = ? AND h.seq = ? AND h.id = ?
AND h.base IS NULL AND NOT h.next_removed
LOCK IN SHARE MODE;

-- name: put_write_fenced
-- Stores a pending write of a base that is not committed. It stores nothing unless all of this
-- holds:
-- - the run holds the fence;
-- - status is the thread's status, or NULL for any;
-- - seen is the number of the newest message;
-- - the row says that there may be questions, or asked is FALSE;
-- - the lease was given up, or ends in lease_min to lease_max microseconds;
-- - the id of the base is larger than those of packed records.
-- A write with the same key is replaced.
-- parameters: write_key, kind, data, base, thread_key, fence, status, seen, asked, base, lease_min,
--   lease_max, base
INSERT INTO graph_write (root, write_key, kind, data, base)
SELECT t.root, CAST(? AS BINARY), CAST(? AS SIGNED), CAST(? AS BINARY), CAST(? AS BINARY)
FROM graph_thread t
WHERE t.thread_key = ? AND t.fence = ? AND t.status = COALESCE(CAST(? AS SIGNED), t.status) AND t.posted = ?
AND (t.asked OR NOT ?) AND t.packed_id < CAST(? AS BINARY)
AND (t.lease_until = 0 OR t.lease_until - TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
	BETWEEN CAST(? AS SIGNED) AND CAST(? AS SIGNED))
AND NOT EXISTS (
	SELECT 1 FROM graph_checkpoint b LEFT JOIN graph_checkpoint n ON n.log_no = b.log_no AND n.seq = b.seq + 1
	WHERE b.root = t.root AND b.id = ?
	AND (b.marked_committed OR n.commits_previous)
)
LOCK IN SHARE MODE
ON DUPLICATE KEY UPDATE data = VALUES(data);

-- name: keep_write_fenced
-- Stores a pending write of a base that is not committed. It stores nothing unless all of this
-- holds:
-- - the run holds the fence;
-- - status is the thread's status, or NULL for any;
-- - seen is the number of the newest message;
-- - the row says that there may be questions, or asked is FALSE;
-- - the lease was given up, or ends in lease_min to lease_max microseconds;
-- - the id of the base is larger than those of packed records.
-- A write with the same key stays as it is.
-- parameters: write_key, kind, data, base, thread_key, fence, status, seen, asked, base, lease_min,
--   lease_max, base
INSERT INTO graph_write (root, write_key, kind, data, base)
SELECT t.root, CAST(? AS BINARY), CAST(? AS SIGNED), CAST(? AS BINARY), CAST(? AS BINARY)
FROM graph_thread t
WHERE t.thread_key = ? AND t.fence = ? AND t.status = COALESCE(CAST(? AS SIGNED), t.status) AND t.posted = ?
AND (t.asked OR NOT ?) AND t.packed_id < CAST(? AS BINARY)
AND (t.lease_until = 0 OR t.lease_until - TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
	BETWEEN CAST(? AS SIGNED) AND CAST(? AS SIGNED))
AND NOT EXISTS (
	SELECT 1 FROM graph_checkpoint b LEFT JOIN graph_checkpoint n ON n.log_no = b.log_no AND n.seq = b.seq + 1
	WHERE b.root = t.root AND b.id = ?
	AND (b.marked_committed OR n.commits_previous)
)
LOCK IN SHARE MODE
ON DUPLICATE KEY UPDATE kind = VALUES(kind);
