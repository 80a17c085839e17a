-- Pending writes. One whose base is committed no longer counts; its row is removed later.
-- ON DUPLICATE KEY UPDATE kind = VALUES(kind) changes nothing, because the key includes the kind.

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
WHERE root = ? AND base > x'00000000000000000000000000000000'
ORDER BY write_no;

-- name: schemas
-- Lists the descriptions of schemas of a version in the order first stored.
-- parameters: root
-- returns: data
SELECT data FROM graph_write
WHERE root = ? AND base = x'00000000000000000000000000000000'
ORDER BY write_no;

-- name: put_write
-- Stores a pending write. A write with the same key is replaced.
-- parameters: root, base, write_key, kind, data
INSERT INTO graph_write (root, base, write_key, kind, data)
VALUES (?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE data = VALUES(data);

-- name: keep_write
-- Stores a pending write. A write with the same key stays as it is.
-- parameters: root, base, write_key, kind, data
INSERT INTO graph_write (root, base, write_key, kind, data)
VALUES (?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE kind = VALUES(kind);

-- name: put_writes_4
-- Stores 4 pending writes as put_write does, in one round trip.
-- parameters: root, base, write_key, kind, data (4 times)
INSERT INTO graph_write (root, base, write_key, kind, data)
VALUES (?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE data = VALUES(data);

-- name: keep_writes_4
-- Stores 4 pending writes as keep_write does, in one round trip.
-- parameters: root, base, write_key, kind, data (4 times)
INSERT INTO graph_write (root, base, write_key, kind, data)
VALUES (?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE kind = VALUES(kind);

-- name: put_writes_16
-- Stores 16 pending writes as put_write does, in one round trip.
-- parameters: root, base, write_key, kind, data (16 times)
INSERT INTO graph_write (root, base, write_key, kind, data)
VALUES (?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?),
	(?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?),
	(?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?),
	(?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE data = VALUES(data);

-- name: keep_writes_16
-- Stores 16 pending writes as keep_write does, in one round trip.
-- parameters: root, base, write_key, kind, data (16 times)
INSERT INTO graph_write (root, base, write_key, kind, data)
VALUES (?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?),
	(?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?),
	(?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?),
	(?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?), (?, ?, ?, ?, ?)
ON DUPLICATE KEY UPDATE kind = VALUES(kind);

-- name: discard_write
-- Removes a task's result or failure.
-- parameters: root, base, result_key, failure_key
DELETE FROM graph_write
WHERE root = ? AND base = ? AND write_key IN (?, ?);

-- name: remove_base_writes
-- Removes the pending writes of a base that a record commits.
-- parameters: root, base
DELETE FROM graph_write
WHERE root = ? AND base = ?;

-- name: sweep_writes
-- Removes the pending writes of a version whose base is committed.
-- parameters: root
DELETE FROM graph_write
WHERE root = ? AND EXISTS (
	SELECT 1 FROM graph_checkpoint b LEFT JOIN graph_checkpoint n ON n.log_no = b.log_no AND n.seq = b.seq + 1
	WHERE b.root = graph_write.root AND b.id = graph_write.base
	AND (b.marked_committed OR n.commits_previous)
);
