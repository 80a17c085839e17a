-- Pending writes. One whose base is committed no longer counts; its row is removed later.
-- pos is log_no << 28 | seq, and 0xfffffff the largest seq.
-- The index of ids holds bytes 3 to 8 of each.

-- name: writes
-- Lists the pending writes of a version in the order first stored. It returns NULL for one whose
-- base is committed. Base 0 has the descriptions of schemas, which are no pending writes.
-- parameters: root
-- returns: data
SELECT CASE WHEN EXISTS (
	SELECT 1 FROM graph_checkpoint b LEFT JOIN graph_checkpoint n ON n.pos = b.pos + 1
	WHERE b.root = graph_write.root AND substr(b.id, 3, 6) = substr(graph_write.base, 3, 6) AND b.id = graph_write.base
	AND (b.marked_committed OR n.commits_previous)
) THEN NULL ELSE data END AS data
FROM graph_write
WHERE root = ?1 AND base > x'00000000000000000000000000000000'
ORDER BY write_no;

-- name: schemas
-- Lists the descriptions of schemas of a version in the order first stored.
-- parameters: root
-- returns: data
SELECT data FROM graph_write
WHERE root = ?1 AND base = x'00000000000000000000000000000000'
ORDER BY write_no;

-- name: put_write
-- Stores a pending write. A write with the same key is replaced.
-- parameters: root, base, write_key, kind, data
INSERT INTO graph_write (root, base, write_key, kind, data)
VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT (root, base, write_key) DO UPDATE SET data = excluded.data;

-- name: keep_write
-- Stores a pending write. A write with the same key stays as it is.
-- parameters: root, base, write_key, kind, data
INSERT INTO graph_write (root, base, write_key, kind, data)
VALUES (?1, ?2, ?3, ?4, ?5)
ON CONFLICT DO NOTHING;

-- name: discard_write
-- Removes a task's result, failure or answer.
-- parameters: root, base, result_key, failure_key, answer_key
DELETE FROM graph_write
WHERE root = ?1 AND base = ?2 AND write_key IN (?3, ?4, ?5);

-- name: remove_base_writes
-- Removes the pending writes of a base that a record commits.
-- parameters: root, base
DELETE FROM graph_write
WHERE root = ?1 AND base = ?2;

-- name: sweep_writes
-- Removes the pending writes of a version whose base is committed.
-- parameters: root
DELETE FROM graph_write
WHERE root = ?1 AND EXISTS (
	SELECT 1 FROM graph_checkpoint b LEFT JOIN graph_checkpoint n ON n.pos = b.pos + 1
	WHERE b.root = graph_write.root AND substr(b.id, 3, 6) = substr(graph_write.base, 3, 6) AND b.id = graph_write.base
	AND (b.marked_committed OR n.commits_previous)
);

-- name: put_outcome
-- Stores the outcome of a task of the open version, without the fence. It stores nothing unless
-- all of this holds:
-- - the base is a record of the open version, and is not committed;
-- - the id of the base is larger than those of packed records;
-- - there is no write with the same key.
-- It locks the rows of the thread and of the base by the lock of the database.
-- parameters: thread_key, base, write_key, kind, data
INSERT INTO graph_write (root, base, write_key, kind, data)
SELECT t.root, ?2, ?3, ?4, ?5
FROM graph_thread t
JOIN graph_checkpoint b ON b.root = t.root AND substr(b.id, 3, 6) = substr(?2, 3, 6) AND b.id = ?2
LEFT JOIN graph_checkpoint n ON n.pos = b.pos + 1
WHERE t.thread_key = ?1 AND t.version > 0 AND t.packed_id < ?2
AND NOT b.marked_committed AND n.commits_previous IS NOT TRUE
ON CONFLICT DO NOTHING;

-- name: outcomes
-- Lists those outcomes of tasks of a base in the open version that write_keys names. write_keys is
-- a JSON array of keys in hex. It returns none if the base is committed.
-- parameters: thread_key, base, write_keys
-- returns: data
SELECT w.data
FROM graph_thread t
CROSS JOIN json_each(?3) k
CROSS JOIN graph_write w ON w.root = t.root AND w.base = ?2 AND w.write_key = unhex(k.value)
WHERE t.thread_key = ?1 AND t.version > 0 AND NOT EXISTS (
	SELECT 1 FROM graph_checkpoint b LEFT JOIN graph_checkpoint n ON n.pos = b.pos + 1
	WHERE b.root = t.root AND substr(b.id, 3, 6) = substr(?2, 3, 6) AND b.id = ?2
	AND (b.marked_committed OR n.commits_previous)
);
