-- Records of logs.
-- pos is log_no << 28 | seq, and 0xfffffff the largest seq.
-- flags holds source in its low three bits, then one bit each: 3 snapshot, 4 commits_previous,
-- 5 next_removed, 6 marked_committed. Columns of these names read them.
-- The index of ids holds bytes 3 to 8 of each.

-- name: record
-- Finds a record of a version by its id.
-- parameters: root, id
-- returns: log_no, seq
SELECT c.log_no, c.seq
FROM graph_checkpoint c
WHERE c.root = ?1 AND substr(c.id, 3, 6) = substr(?2, 3, 6) AND c.id = ?2;

-- name: base
-- Finds a record by its id, as record does, and whether it is committed: by the record with the
-- next seq, or marked by another one.
-- parameters: root, id
-- returns: log_no, seq, committed
SELECT c.log_no, c.seq, (c.marked_committed OR COALESCE(n.commits_previous, FALSE)) AS committed
FROM graph_checkpoint c LEFT JOIN graph_checkpoint n ON n.pos = c.pos + 1
WHERE c.root = ?1 AND substr(c.id, 3, 6) = substr(?2, 3, 6) AND c.id = ?2;

-- name: newest_snapshot
-- Finds the newest snapshot of a log, in a row or in a pack; 0 if there is none.
-- parameters: log_no
-- returns: seq
SELECT max(
	COALESCE((SELECT c.seq FROM graph_checkpoint c
		WHERE c.pos BETWEEN ?1 << 28 AND (?1 << 28 | 0xfffffff) AND c.snapshot
		ORDER BY c.pos DESC LIMIT 1), 0),
	COALESCE((SELECT p.first_seq FROM graph_pack p
		WHERE p.pos BETWEEN ?1 << 28 AND (?1 << 28 | 0xfffffff) AND p.whole
		ORDER BY p.pos DESC LIMIT 1), 0)
) AS seq;

-- name: records
-- Reads the records of a log with a seq from first to last, oldest first.
-- parameters: log_no, first, last
-- returns: seq, id, line_no, source, snapshot, commits_previous, marked_committed, step, created,
--   parent, base, commits, body, payload
SELECT c.seq, c.id, c.line_no, c.source, c.snapshot, c.commits_previous, c.marked_committed,
	c.step, c.created, c.parent, c.base, c.commits, c.body, c.payload
FROM graph_checkpoint c
WHERE c.pos BETWEEN (?1 << 28 | ?2) AND (?1 << 28 | ?3)
ORDER BY c.pos;

-- name: packable
-- Reads records as records does, with payloads of at most 64 KB: larger ones are never packed.
-- parameters: log_no, first, last
-- returns: seq, id, line_no, source, snapshot, commits_previous, marked_committed, step, created,
--   parent, base, commits, body, payload
SELECT c.seq, c.id, c.line_no, c.source, c.snapshot, c.commits_previous, c.marked_committed,
	c.step, c.created, c.parent, c.base, c.commits, c.body,
	CASE WHEN length(c.payload) <= 65536 THEN c.payload END AS payload
FROM graph_checkpoint c
WHERE c.pos BETWEEN (?1 << 28 | ?2) AND (?1 << 28 | ?3)
ORDER BY c.pos;

-- name: history
-- Reads records of a log, newest first, from the one with the seq last.
-- parameters: log_no, last, limit
-- returns: seq, id, line_no, source, snapshot, commits_previous, marked_committed, step, created,
--   parent, base, commits, body, payload
SELECT c.seq, c.id, c.line_no, c.source, c.snapshot, c.commits_previous, c.marked_committed,
	c.step, c.created, c.parent, c.base, c.commits, c.body, c.payload
FROM graph_checkpoint c
WHERE c.pos BETWEEN ?1 << 28 AND (?1 << 28 | ?2)
ORDER BY c.pos DESC LIMIT +?3;

-- name: history_headers
-- Reads records as history does, without their payloads.
-- parameters: log_no, last, limit
-- returns: seq, id, line_no, source, snapshot, commits_previous, marked_committed, step, created,
--   parent, base, commits, body
SELECT c.seq, c.id, c.line_no, c.source, c.snapshot, c.commits_previous, c.marked_committed,
	c.step, c.created, c.parent, c.base, c.commits, c.body
FROM graph_checkpoint c
WHERE c.pos BETWEEN ?1 << 28 AND (?1 << 28 | ?2)
ORDER BY c.pos DESC LIMIT +?3;

-- name: headers
-- Reads of all records of a log what decides which of them Prune removes, oldest first.
-- parameters: log_no
-- returns: seq, id, source, snapshot, commits_previous, created, base
SELECT c.seq, c.id, c.source, c.snapshot, c.commits_previous, c.created, COALESCE(c.base, c.id) AS base
FROM graph_checkpoint c
WHERE c.pos BETWEEN ?1 << 28 AND (?1 << 28 | 0xfffffff)
ORDER BY c.pos;

-- name: ids
-- Reads the ids of the records of a log with a seq from first to last.
-- parameters: log_no, first, last
-- returns: id, seq
SELECT c.id, c.seq
FROM graph_checkpoint c
WHERE c.pos BETWEEN (?1 << 28 | ?2) AND (?1 << 28 | ?3);

-- name: insert_record
-- Inserts a record.
-- parameters: log_no, seq, root, id, line_no, source, snapshot, commits_previous, step, created,
--   parent, base, commits, body, payload
INSERT INTO graph_checkpoint (pos, root, id, line_no, flags, step, links, body, payload)
VALUES (?1 << 28 | ?2, ?3, ?4, ?5,
	?6 | (?7 << 3) | (?8 << 4) | (?10 << 7), -- flags
	?9,
	CASE WHEN COALESCE(?11, ?12, ?13) IS NOT NULL THEN
		CAST(COALESCE(x'01' || ?11, zeroblob(17)) || COALESCE(x'01' || ?12, zeroblob(17)) || COALESCE(x'01' || ?13, zeroblob(17)) AS BLOB) END, -- links
	?14, ?15);

-- name: mark_committed
-- Marks a record that another than the next one commits.
-- parameters: root, id
UPDATE graph_checkpoint
SET flags = flags | (1 << 6) -- marked_committed
WHERE root = ?1 AND substr(id, 3, 6) = substr(?2, 3, 6) AND id = ?2;

-- name: mark_next_removed
-- Marks a record that stays when Prune removes the next one.
-- parameters: log_no, seq
UPDATE graph_checkpoint
SET flags = flags | (1 << 5) -- next_removed
WHERE pos = (?1 << 28 | ?2);

-- name: rewrite_record
-- Writes a record so that it can be read when Prune has removed the one before it.
-- parameters: snapshot, parent, commits, body, payload, log_no, seq
UPDATE graph_checkpoint
SET flags = (flags & ~(1 << 3) & ~(1 << 4)) | (?1 << 3), -- snapshot, and commits_previous = FALSE
	links = CASE WHEN COALESCE(?2, base, ?3) IS NOT NULL THEN
		CAST(COALESCE(x'01' || ?2, zeroblob(17)) || COALESCE(x'01' || base, zeroblob(17)) || COALESCE(x'01' || ?3, zeroblob(17)) AS BLOB) END,
	body = ?4, payload = ?5
WHERE pos = (?6 << 28 | ?7);

-- name: remove_records
-- Removes the records of a log with a seq from first to last.
-- parameters: log_no, first, last
DELETE FROM graph_checkpoint
WHERE pos BETWEEN (?1 << 28 | ?2) AND (?1 << 28 | ?3);
