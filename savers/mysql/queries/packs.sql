-- Packs: records of a log that follow each other, in one row.

-- name: packs
-- Reads the packs of a log that have records with a seq from first to last, oldest first.
-- parameters: log_no, first, last
-- returns: log_no, first_seq, last_seq, whole, body
SELECT p.log_no, p.first_seq, p.last_seq, p.whole, p.body
FROM graph_pack p
WHERE p.log_no = ? AND p.last_seq >= ? AND p.first_seq <= ?
ORDER BY p.last_seq;

-- name: pack_before
-- Reads the newest pack of a log that has a record whose seq is at most seq.
-- parameters: log_no, seq
-- returns: log_no, first_seq, last_seq, whole, body
SELECT p.log_no, p.first_seq, p.last_seq, p.whole, p.body
FROM graph_pack p
WHERE p.log_no = ? AND p.first_seq <= ?
ORDER BY p.last_seq DESC LIMIT 1;

-- name: packs_of_id
-- Reads the packs of a version that may have a record: ids in them go from first_id to last_id.
-- parameters: root, id, id
-- returns: log_no, first_seq, last_seq, whole, body
SELECT p.log_no, p.first_seq, p.last_seq, p.whole, p.body
FROM graph_pack p
WHERE p.root = ? AND p.last_id >= ? AND p.first_id <= ?
ORDER BY p.log_no, p.last_seq;

-- name: unsettled
-- Finds the oldest record with a row that packing has not looked at yet: returns its seq, 0 for
-- none.
-- parameters: log_no, log_no
-- returns: seq
SELECT COALESCE(MIN(c.seq), 0) AS seq
FROM graph_checkpoint c
WHERE c.log_no = ? AND c.seq > (SELECT l.settled FROM graph_log l WHERE l.log_no = ?);

-- name: settle
-- Says that packing has looked at the records of a log up to the seq settled.
-- parameters: settled, log_no
UPDATE graph_log SET settled = ? WHERE log_no = ?;

-- name: unsettle
-- Says that records of a log have rows again, so that packing looks at those from the seq first on.
-- parameters: first, log_no
UPDATE graph_log SET settled = LEAST(settled, ? - 1) WHERE log_no = ?;

-- name: insert_pack
-- Inserts a pack.
-- parameters: log_no, first_seq, last_seq, root, first_id, last_id, records, whole, body
INSERT INTO graph_pack (log_no, first_seq, last_seq, root, first_id, last_id, records, whole, body)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: remove_pack
-- Removes a pack, whose records are removed, or rows of their own again.
-- parameters: log_no, last_seq
DELETE FROM graph_pack WHERE log_no = ? AND last_seq = ?;

-- name: mark_packed
-- Says that records with ids up to packed_id may be packed.
-- parameters: packed_id, thread_no
UPDATE graph_thread SET packed_id = GREATEST(packed_id, CAST(? AS BINARY(16))) WHERE thread_no = ?;
