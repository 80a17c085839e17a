-- Loads: place finds what chain reads.

-- name: place
-- Reads a thread, one version, the head of one log, the head of the version's root, and where
-- the record to restore is. Number 0 means the open version, and a NULL at the head. A record that
-- has no row may be in a pack: then found_seq is NULL, and the records of the packs whose ids
-- include it go from first_packed to last_packed. Restoring begins at first_seq, 0 if there is
-- no snapshot.
-- parameters: at, at, at, at, at, at, at, at, number, number, ns_key, at, thread_key
-- returns: thread_no, version, versions, status, fence, holder, lease_until, updated,
--   packed_id, created, thread_graph, title, labels, wake, attempts, posted, inputs, others,
--   cancels, priority, now, number, root, version_status,
--   version_updated, released, log_no, seq, id, step,
--   line_no, line, fingerprint, graph, root_seq, root_id, root_step, found_seq, base,
--   first_packed, last_packed, first_seq
SELECT t.thread_no, t.version, t.versions, t.status, t.fence, t.holder, t.lease_until, t.updated,
	t.packed_id, t.created, t.graph AS thread_graph, t.title, t.labels, t.wake, t.attempts, t.posted, t.inputs, t.others, t.cancels, t.priority,
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AS now,
	v.number, v.root, v.status AS version_status, v.updated AS version_updated, v.released,
	l.log_no, h.seq, h.id, h.step, n.line_no, n.line, n.fingerprint, n.graph,
	r.seq AS root_seq, r.id AS root_id, r.step AS root_step,
	a.seq AS found_seq, a.base,
	CASE WHEN a.seq IS NULL THEN (SELECT MIN(p.first_seq) FROM graph_pack p
		WHERE p.root = v.root AND p.last_id >= ? AND p.first_id <= ? AND p.log_no = l.log_no) END AS first_packed,
	CASE WHEN a.seq IS NULL THEN (SELECT MAX(p.last_seq) FROM graph_pack p
		WHERE p.root = v.root AND p.last_id >= ? AND p.first_id <= ? AND p.log_no = l.log_no) END AS last_packed,
	GREATEST(
		COALESCE((SELECT s.seq FROM graph_checkpoint s
			WHERE s.log_no = l.log_no AND s.snapshot AND s.seq <= COALESCE(a.seq, (
				SELECT MIN(p.first_seq) FROM graph_pack p
				WHERE p.root = v.root AND p.last_id >= ? AND p.first_id <= ? AND p.log_no = l.log_no))
			ORDER BY s.seq DESC LIMIT 1), 0),
		COALESCE((SELECT x.first_seq FROM graph_pack x
			WHERE x.log_no = l.log_no AND x.whole AND x.first_seq <= COALESCE(a.seq, (
				SELECT MIN(p.first_seq) FROM graph_pack p
				WHERE p.root = v.root AND p.last_id >= ? AND p.first_id <= ? AND p.log_no = l.log_no))
			ORDER BY x.last_seq DESC LIMIT 1), 0)
	) AS first_seq
FROM graph_thread t
	LEFT JOIN graph_version v ON v.thread_no = t.thread_no AND v.number = CASE ? WHEN 0 THEN t.version ELSE ? END
	LEFT JOIN graph_log l ON l.thread_no = t.thread_no AND l.version = v.number AND l.ns_key = ?
	LEFT JOIN graph_checkpoint h ON h.log_no = l.log_no AND h.seq = (SELECT x.seq FROM graph_checkpoint x
		WHERE x.log_no = l.log_no ORDER BY x.seq DESC LIMIT 1)
	LEFT JOIN graph_line n ON n.root = v.root AND n.line_no = h.line_no
	LEFT JOIN graph_checkpoint r ON r.log_no = v.root AND r.seq = (SELECT x.seq FROM graph_checkpoint x
		WHERE x.log_no = v.root ORDER BY x.seq DESC LIMIT 1)
	LEFT JOIN graph_checkpoint a ON a.root = v.root AND a.id = COALESCE(?, h.id) AND a.log_no = l.log_no
WHERE t.thread_key = ?;

-- name: chain
-- Reads what restores a record, in rows of several parts, in no order:
-- 1. values of place, which tell whether anything has changed since: version, versions, status,
--    lease_until, updated, log_no, seq, root_seq, and the fence as id;
-- 2. the records with a seq from first to last, and the one before them;
-- 3. the packs that have such records: first_seq, last_seq, whole, and the body;
-- 4. the lines of the records: line_no, fingerprint, the line as id, and the graph as body;
-- 5. the pending writes of the version whose base is not committed: write_no, and data as body;
-- 6. the record base: log_no, seq, and whether it is committed;
-- 7. more values of place, as part 1: posted, inputs, others, cancels, attempts, wake.
-- No line of the log has a number below least_line.
-- parameters: thread_no, number, ns_key, log_no, root, thread_no, log_no, first, last, log_no, first, last, root, log_no, first, least_line, last_line, root, root, base, thread_no
-- returns: part, n1, n2, n3, n4, n5, n6, n7, n8, id, parent, base, commits, body, payload
SELECT 1 AS part, t.version AS n1, t.versions AS n2, t.status AS n3, t.lease_until AS n4, t.updated AS n5,
	COALESCE((SELECT l.log_no FROM graph_log l WHERE l.thread_no = ? AND l.version = ? AND l.ns_key = ?), 0) AS n6,
	COALESCE((SELECT MAX(h.seq) FROM graph_checkpoint h WHERE h.log_no = ?), 0) AS n7,
	COALESCE((SELECT MAX(h.seq) FROM graph_checkpoint h WHERE h.log_no = ?), 0) AS n8,
	t.fence AS id, NULL AS parent, NULL AS base, NULL AS commits, NULL AS body, NULL AS payload
FROM graph_thread t
WHERE t.thread_no = ?
UNION ALL
SELECT 2, c.seq, c.line_no, c.source, c.snapshot, c.commits_previous, c.marked_committed,
	c.step, c.created, c.id, c.parent, c.base, c.commits, c.body, c.payload
FROM graph_checkpoint c
WHERE c.log_no = ? AND c.seq BETWEEN ? - 1 AND ?
UNION ALL
SELECT 3, p.first_seq, p.last_seq, p.whole, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, p.body, NULL
FROM graph_pack p
WHERE p.log_no = ? AND p.last_seq >= ? AND p.first_seq <= ?
UNION ALL
SELECT 4, n.line_no, n.fingerprint, 0, 0, 0, 0, 0, 0, n.line, NULL, NULL, NULL, n.graph, NULL
FROM graph_line n
WHERE n.root = ? AND n.line_no BETWEEN COALESCE(
	(SELECT c.line_no FROM graph_checkpoint c WHERE c.log_no = ? AND c.seq = ?), ?) AND ?
UNION ALL
SELECT 5, w.write_no, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, w.data, NULL
FROM graph_write w
WHERE w.root = ? AND w.base > x'00000000000000000000000000000000' AND NOT EXISTS (
	SELECT 1 FROM graph_checkpoint b LEFT JOIN graph_checkpoint n ON n.log_no = b.log_no AND n.seq = b.seq + 1
	WHERE b.root = w.root AND b.id = w.base
	AND (b.marked_committed OR n.commits_previous)
)
UNION ALL
SELECT 6, b.log_no, b.seq, (b.marked_committed OR COALESCE(n.commits_previous, FALSE)), 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL
FROM graph_checkpoint b LEFT JOIN graph_checkpoint n ON n.log_no = b.log_no AND n.seq = b.seq + 1
WHERE b.root = ? AND b.id = ?
UNION ALL
SELECT 7, t.posted, t.inputs, t.others, t.cancels, t.attempts, t.wake, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL
FROM graph_thread t
WHERE t.thread_no = ?;
