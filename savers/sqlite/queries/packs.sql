-- Packs: records of a log that follow each other, in one row.
-- pos is log_no << 28 | last_seq, and 0xfffffff the largest seq.

-- name: packs
-- Reads the packs of a log that have records with a seq from first to last, oldest first.
-- parameters: log_no, first, last
-- returns: log_no, first_seq, last_seq, whole, body
SELECT p.log_no, p.first_seq, p.last_seq, p.whole, p.body
FROM graph_pack p
WHERE p.pos BETWEEN (?1 << 28 | ?2) AND (?1 << 28 | 0xfffffff) AND p.first_seq <= ?3
ORDER BY p.pos;

-- name: pack_before
-- Reads the newest pack of a log that has a record whose seq is at most seq.
-- parameters: log_no, seq
-- returns: log_no, first_seq, last_seq, whole, body
SELECT p.log_no, p.first_seq, p.last_seq, p.whole, p.body
FROM graph_pack p
WHERE p.pos BETWEEN ?1 << 28 AND (?1 << 28 | 0xfffffff) AND p.first_seq <= ?2
ORDER BY p.pos DESC LIMIT 1;

-- name: packs_of_id
-- Reads the packs of a version that may have a record: ids in them go from first_id to last_id.
-- parameters: root, id
-- returns: log_no, first_seq, last_seq, whole, body
SELECT p.log_no, p.first_seq, p.last_seq, p.whole, p.body
FROM graph_pack p
WHERE p.root = ?1 AND p.last_id >= ?2 AND p.first_id <= ?2
ORDER BY p.pos;

-- name: unsettled
-- Finds the oldest record with a row that packing has not looked at yet: returns its seq, 0 for
-- none.
-- parameters: log_no
-- returns: seq
SELECT COALESCE(MIN(c.pos), 0) & 0xfffffff AS seq
FROM graph_checkpoint c
WHERE c.pos BETWEEN (SELECT (l.log_no << 28 | l.settled) + 1 FROM graph_log l WHERE l.log_no = ?1) AND (?1 << 28 | 0xfffffff);

-- name: settle
-- Says that packing has looked at the records of a log up to the seq settled.
-- parameters: settled, log_no
UPDATE graph_log SET settled = ?1 WHERE log_no = ?2;

-- name: unsettle
-- Says that records of a log have rows again, so that packing looks at those from the seq first on.
-- parameters: first, log_no
UPDATE graph_log SET settled = min(settled, ?1 - 1) WHERE log_no = ?2;

-- name: insert_pack
-- Inserts a pack.
-- parameters: log_no, first_seq, last_seq, root, first_id, last_id, records, whole, body
INSERT INTO graph_pack (pos, first_seq, root, first_id, last_id, records, whole, body)
VALUES (?1 << 28 | ?3, ?2, ?4, ?5, ?6, ?7, ?8, ?9);

-- name: remove_pack
-- Removes a pack, whose records are removed, or rows of their own again.
-- parameters: log_no, last_seq
DELETE FROM graph_pack WHERE pos = (?1 << 28 | ?2);

-- name: mark_packed
-- Says that records with ids up to packed_id may be packed.
-- parameters: packed_id, thread_no
UPDATE graph_thread SET packed_id = max(packed_id, ?1) WHERE thread_no = ?2;
