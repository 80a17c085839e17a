-- Loads: place finds what chain reads.
-- pos is log_no << 28 | seq, and 0xfffffff the largest seq.
-- The index of ids holds bytes 3 to 8 of each.

-- name: place
-- Reads a thread, one version, the head of one log, the head of the version's root, and where
-- the record to restore is. Number 0 means the open version, and a NULL at the head. A record that
-- has no row may be in a pack: then found_seq is NULL, and the records of the packs whose ids
-- include it go from first_packed to last_packed. Restoring begins at first_seq, 0 if there is
-- no snapshot.
-- parameters: thread_key, number, ns_key, at
-- returns: thread_no, version, versions, status, fence, holder, lease_until, updated,
--   packed_id, created, thread_graph, title, labels, wake, attempts, posted, inputs, others,
--   cancels, priority, now, number, root, version_status,
--   version_updated, released, log_no, seq, id, step,
--   line_no, line, fingerprint, graph, root_seq, root_id, root_step, found_seq, base,
--   first_packed, last_packed, first_seq
SELECT t.thread_no, t.version, t.versions, t.status, t.fence, t.holder, t.lease_until, t.updated,
	t.packed_id, t.created, t.graph AS thread_graph, t.title, t.labels, t.wake, t.attempts, t.posted, t.inputs, t.others, t.cancels, t.priority,
	CAST(unixepoch('subsec') * 1000000 AS INTEGER) AS now,
	v.number, v.root, v.status AS version_status, v.updated AS version_updated, v.released,
	l.log_no, h.seq, h.id, h.step, n.line_no, n.line, n.fingerprint, n.graph,
	r.seq AS root_seq, r.id AS root_id, r.step AS root_step,
	a.seq AS found_seq, a.base,
	CASE WHEN a.pos IS NULL THEN (SELECT MIN(p.first_seq) FROM graph_pack p
		WHERE p.root = v.root AND p.last_id >= ?4 AND p.first_id <= ?4 AND p.log_no = l.log_no) END AS first_packed,
	CASE WHEN a.pos IS NULL THEN (SELECT MAX(p.last_seq) FROM graph_pack p
		WHERE p.root = v.root AND p.last_id >= ?4 AND p.first_id <= ?4 AND p.log_no = l.log_no) END AS last_packed,
	max(
		COALESCE((SELECT s.seq FROM graph_checkpoint s
			WHERE s.pos BETWEEN l.log_no << 28 AND COALESCE(a.pos, l.log_no << 28 | (
				SELECT MIN(p.first_seq) FROM graph_pack p
				WHERE p.root = v.root AND p.last_id >= ?4 AND p.first_id <= ?4 AND p.log_no = l.log_no))
			AND s.snapshot
			ORDER BY s.pos DESC LIMIT 1), 0),
		COALESCE((SELECT x.first_seq FROM graph_pack x
			WHERE x.pos BETWEEN l.log_no << 28 AND (l.log_no << 28 | 0xfffffff) AND x.whole
			AND x.first_seq <= COALESCE(a.seq, (
				SELECT MIN(p.first_seq) FROM graph_pack p
				WHERE p.root = v.root AND p.last_id >= ?4 AND p.first_id <= ?4 AND p.log_no = l.log_no))
			ORDER BY x.pos DESC LIMIT 1), 0)
	) AS first_seq
FROM graph_thread t
	LEFT JOIN graph_version v ON v.thread_no = t.thread_no AND v.number = CASE ?2 WHEN 0 THEN t.version ELSE ?2 END
	LEFT JOIN graph_log l ON l.thread_no = t.thread_no AND l.version = v.number AND l.ns_key = ?3
	LEFT JOIN graph_checkpoint h ON h.pos = (SELECT MAX(x.pos) FROM graph_checkpoint x
		WHERE x.pos BETWEEN l.log_no << 28 AND (l.log_no << 28 | 0xfffffff))
	LEFT JOIN graph_line n ON n.root = v.root AND n.line_no = h.line_no
	LEFT JOIN graph_checkpoint r ON r.pos = (SELECT MAX(x.pos) FROM graph_checkpoint x
		WHERE x.pos BETWEEN v.root << 28 AND (v.root << 28 | 0xfffffff))
	LEFT JOIN graph_checkpoint a ON a.root = v.root AND substr(a.id, 3, 6) = substr(COALESCE(?4, h.id), 3, 6)
		AND a.id = COALESCE(?4, h.id) AND a.log_no = l.log_no
WHERE t.thread_key = ?1;

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
-- parameters: thread_no, number, ns_key, log_no, root, first, last, base, least_line, last_line
-- returns: part, n1, n2, n3, n4, n5, n6, n7, n8, id, parent, base, commits, body, payload
SELECT 1 AS part, t.version AS n1, t.versions AS n2, t.status AS n3, t.lease_until AS n4, t.updated AS n5,
	COALESCE((SELECT l.log_no FROM graph_log l WHERE l.thread_no = ?1 AND l.version = ?2 AND l.ns_key = ?3), 0) AS n6,
	COALESCE((SELECT MAX(h.pos) FROM graph_checkpoint h WHERE h.pos BETWEEN ?4 << 28 AND (?4 << 28 | 0xfffffff)), 0) & 0xfffffff AS n7,
	COALESCE((SELECT MAX(h.pos) FROM graph_checkpoint h WHERE h.pos BETWEEN ?5 << 28 AND (?5 << 28 | 0xfffffff)), 0) & 0xfffffff AS n8,
	t.fence AS id, NULL AS parent, NULL AS base, NULL AS commits, NULL AS body, NULL AS payload
FROM graph_thread t
WHERE t.thread_no = ?1
UNION ALL
SELECT 2, c.seq, c.line_no, c.source, c.snapshot, c.commits_previous, c.marked_committed, c.step, c.created,
	c.id, c.parent, c.base, c.commits, c.body, c.payload
FROM graph_checkpoint c
WHERE c.pos BETWEEN (?4 << 28 | max(?6 - 1, 0)) AND (?4 << 28 | ?7)
UNION ALL
SELECT 3, p.first_seq, p.last_seq, p.whole, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, p.body, NULL
FROM graph_pack p
WHERE p.pos BETWEEN (?4 << 28 | ?6) AND (?4 << 28 | 0xfffffff) AND p.first_seq <= ?7
UNION ALL
SELECT 4, n.line_no, n.fingerprint, 0, 0, 0, 0, 0, 0, n.line, NULL, NULL, NULL, n.graph, NULL
FROM graph_line n
WHERE n.root = ?5 AND n.line_no BETWEEN COALESCE(
	(SELECT c.line_no FROM graph_checkpoint c WHERE c.pos = (?4 << 28 | ?6)), ?9) AND ?10
UNION ALL
SELECT 5, w.write_no, 0, 0, 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, w.data, NULL
FROM graph_write w
WHERE w.root = ?5 AND w.base > x'00000000000000000000000000000000' AND NOT EXISTS (
	SELECT 1 FROM graph_checkpoint b LEFT JOIN graph_checkpoint n ON n.pos = b.pos + 1
	WHERE b.root = w.root AND substr(b.id, 3, 6) = substr(w.base, 3, 6) AND b.id = w.base
	AND (b.marked_committed OR n.commits_previous)
)
UNION ALL
SELECT 6, b.log_no, b.seq, (b.marked_committed OR COALESCE(n.commits_previous, FALSE)), 0, 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL
FROM graph_checkpoint b LEFT JOIN graph_checkpoint n ON n.pos = b.pos + 1
WHERE b.root = ?5 AND substr(b.id, 3, 6) = substr(?8, 3, 6) AND b.id = ?8
UNION ALL
SELECT 7, t.posted, t.inputs, t.others, t.cancels, t.attempts, t.wake, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL
FROM graph_thread t
WHERE t.thread_no = ?1;
