-- Pending writes. One whose base is committed no longer counts; its row is removed later.

-- name: writes
-- Lists the pending writes of a version in the order first stored. It returns NULL for one whose
-- base is committed. Base 0 has the descriptions of schemas, which are no pending writes.
-- parameters: root
-- returns: data
SELECT CASE WHEN EXISTS (
	SELECT 1 FROM graph_checkpoint b LEFT JOIN graph_checkpoint n ON n.log_no = b.log_no AND n.seq = b.seq + 1
	WHERE b.root = graph_write.root AND b.id = graph_write.base
	AND (b.marked_committed OR n.commits_previous)
) THEN NULL ELSE data END AS data
FROM graph_write
WHERE root = $1 AND base > '\x00000000000000000000000000000000'
ORDER BY write_no;

-- name: schemas
-- Lists the descriptions of schemas of a version in the order first stored.
-- parameters: root
-- returns: data
SELECT data FROM graph_write
WHERE root = $1 AND base = '\x00000000000000000000000000000000'
ORDER BY write_no;

-- name: put_write
-- Stores a pending write. A write with the same key is replaced.
-- parameters: root, base, write_key, kind, data
INSERT INTO graph_write (root, base, write_key, kind, data)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (root, base, write_key) DO UPDATE SET data = excluded.data;

-- name: keep_write
-- Stores a pending write. A write with the same key stays as it is.
-- parameters: root, base, write_key, kind, data
INSERT INTO graph_write (root, base, write_key, kind, data)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT DO NOTHING;

-- name: discard_write
-- Removes a task's result or failure.
-- parameters: root, base, result_key, failure_key
DELETE FROM graph_write
WHERE root = $1 AND base = $2 AND write_key IN ($3, $4);

-- name: remove_base_writes
-- Removes the pending writes of a base that a record commits.
-- parameters: root, base
DELETE FROM graph_write
WHERE root = $1 AND base = $2;

-- name: sweep_writes
-- Removes the pending writes of a version whose base is committed.
-- parameters: root
DELETE FROM graph_write
WHERE root = $1 AND EXISTS (
	SELECT 1 FROM graph_checkpoint b LEFT JOIN graph_checkpoint n ON n.log_no = b.log_no AND n.seq = b.seq + 1
	WHERE b.root = graph_write.root AND b.id = graph_write.base
	AND (b.marked_committed OR n.commits_previous)
);
