-- What a run stores by one statement while the thread's row need not change. Otherwise a
-- transaction locks the row and uses the other statements.
-- pos is log_no << 28 | seq, and 0xfffffff the largest seq.
-- flags holds source in its low three bits, then one bit each: 3 snapshot, 4 commits_previous,
-- 5 next_removed, 6 marked_committed. The rest is created. Columns of these names read them.
-- The index of ids holds bytes 3 to 8 of each.

-- name: commit
-- Stores a record after the head that the run knows, with that head's line. It stores nothing
-- unless all of this holds:
-- - the run holds the fence;
-- - status is the thread's status, or NULL for any;
-- - seen is the number of the newest message;
-- - the lease was given up, or ends in lease_min to lease_max microseconds;
-- - the head is the record of log_no, seq and after, is its own base, and not next_removed.
-- If another record follows the head, it has the key of the new one: nothing is stored either.
-- An INSERT of a SELECT would first copy the row, with its body, to a temporary table.
-- parameters: id, source, snapshot, commits_previous, step, created, body, thread_no, fence,
--   status, lease_min, lease_max, log_no, seq, after, payload, seen
INSERT OR IGNORE INTO graph_checkpoint (pos, root, id, line_no, flags, step, body, payload)
VALUES ((?13 << 28 | ?14) + 1,
	(SELECT h.root -- NULL, which the table ignores, unless all of it holds
		FROM graph_thread t CROSS JOIN graph_checkpoint h ON h.root = t.root
		WHERE t.thread_no = ?8 AND t.fence = ?9 AND t.status = COALESCE(?10, t.status) AND t.posted = ?17
		AND (t.lease_until = 0 OR t.lease_until - CAST(unixepoch('subsec') * 1000000 AS INTEGER)
			BETWEEN ?11 AND ?12)
		AND h.pos = (?13 << 28 | ?14) AND substr(h.id, 3, 6) = substr(?15, 3, 6) AND h.id = ?15
		AND h.base IS NULL AND NOT h.next_removed),
	?1,
	(SELECT line_no FROM graph_checkpoint WHERE pos = (?13 << 28 | ?14)),
	?2 | (?3 << 3) | (?4 << 4) | (?6 << 7), -- flags
	?5, ?7, ?16);

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
-- parameters: write_key, kind, data, base, thread_key, fence, status, asked, lease_min, lease_max,
--   seen
INSERT INTO graph_write (root, write_key, kind, data, base)
SELECT t.root, ?1, ?2, ?3, ?4
FROM graph_thread t
WHERE t.thread_key = ?5 AND t.fence = ?6 AND t.status = COALESCE(?7, t.status) AND t.posted = ?11
AND (t.asked OR NOT ?8) AND t.packed_id < ?4
AND (t.lease_until = 0 OR t.lease_until - CAST(unixepoch('subsec') * 1000000 AS INTEGER)
	BETWEEN ?9 AND ?10)
AND NOT EXISTS (
	SELECT 1 FROM graph_checkpoint b LEFT JOIN graph_checkpoint n ON n.pos = b.pos + 1
	WHERE b.root = t.root AND substr(b.id, 3, 6) = substr(?4, 3, 6) AND b.id = ?4
	AND (b.marked_committed OR n.commits_previous)
)
ON CONFLICT (root, base, write_key) DO UPDATE SET data = excluded.data;

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
-- parameters: write_key, kind, data, base, thread_key, fence, status, asked, lease_min, lease_max,
--   seen
INSERT INTO graph_write (root, write_key, kind, data, base)
SELECT t.root, ?1, ?2, ?3, ?4
FROM graph_thread t
WHERE t.thread_key = ?5 AND t.fence = ?6 AND t.status = COALESCE(?7, t.status) AND t.posted = ?11
AND (t.asked OR NOT ?8) AND t.packed_id < ?4
AND (t.lease_until = 0 OR t.lease_until - CAST(unixepoch('subsec') * 1000000 AS INTEGER)
	BETWEEN ?9 AND ?10)
AND NOT EXISTS (
	SELECT 1 FROM graph_checkpoint b LEFT JOIN graph_checkpoint n ON n.pos = b.pos + 1
	WHERE b.root = t.root AND substr(b.id, 3, 6) = substr(?4, 3, 6) AND b.id = ?4
	AND (b.marked_committed OR n.commits_previous)
)
ON CONFLICT DO NOTHING;
