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
-- Removes a task's result, failure or answer.
-- parameters: root, base, result_key, failure_key, answer_key
DELETE FROM graph_write
WHERE root = ? AND base = ? AND write_key IN (?, ?, ?);

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

-- name: put_outcome
-- Stores the outcome of a task of the open version, without the fence. It stores nothing unless
-- all of this holds:
-- - the base is a record of the open version, and is not committed;
-- - the id of the base is larger than those of packed records;
-- - there is no write with the same key.
-- It locks the rows of the thread and of the base, so that neither a release nor a Prune removes them.
-- parameters: base, write_key, kind, data, base, thread_key, base
INSERT INTO graph_write (root, base, write_key, kind, data)
SELECT t.root, CAST(? AS BINARY), CAST(? AS BINARY), CAST(? AS SIGNED), CAST(? AS BINARY)
FROM graph_thread t
JOIN graph_checkpoint b ON b.root = t.root AND b.id = ?
WHERE t.thread_key = ? AND t.version > 0 AND t.packed_id < CAST(? AS BINARY)
AND NOT b.marked_committed AND NOT EXISTS (
	SELECT 1 FROM graph_checkpoint n WHERE n.log_no = b.log_no AND n.seq = b.seq + 1 AND n.commits_previous
)
LOCK IN SHARE MODE
ON DUPLICATE KEY UPDATE kind = VALUES(kind);

-- name: outcomes
-- Lists those outcomes of tasks of a base in the open version that write_keys names. write_keys is
-- a JSON array of keys in hex. It returns none if the base is committed.
-- parameters: write_keys, base, thread_key, base
-- returns: data
SELECT w.data
FROM graph_thread t
STRAIGHT_JOIN JSON_TABLE(?, '$[*]' COLUMNS (k VARCHAR(64) PATH '$')) k
STRAIGHT_JOIN graph_write w ON w.root = t.root AND w.base = ? AND w.write_key = UNHEX(k.k)
WHERE t.thread_key = ? AND t.version > 0 AND NOT EXISTS (
	SELECT 1 FROM graph_checkpoint b LEFT JOIN graph_checkpoint n ON n.log_no = b.log_no AND n.seq = b.seq + 1
	WHERE b.root = t.root AND b.id = ?
	AND (b.marked_committed OR n.commits_previous)
);
