-- What a run stores by one statement while the thread's row need not change. Otherwise a
-- transaction locks the row and uses the other statements.

-- name: commit
-- Stores a record after the head that the run knows, with that head's line, and returns a row. The
-- function is in the folder schema. It stores nothing, and there is no row, unless all of this
-- holds:
-- - the run holds the fence;
-- - status is the thread's status, or NULL for any;
-- - seen is the number of the newest message;
-- - the lease was given up, or ends in lease_min to lease_max microseconds;
-- - the head is the record of log_no, seq and after, is its own base, and not next_removed.
-- If another record follows the head, it has the key of the new one: the statement fails.
-- parameters: id, source, snapshot, commits_previous, step, created, body, thread_no, fence,
--   status, lease_min, lease_max, log_no, seq, after, payload, seen
-- returns: stored
SELECT 1 AS stored
FROM (SELECT graph_commit($1, $2, $3, $4, $5, $6, $7, $16,
	$8, $9, $10, $17, $11, $12, $13, $14, $15) AS stored) c
WHERE c.stored;

-- name: commit_last
-- Stores a record after the head that the run knows, with that head's line, ends the run, and
-- returns a row. The function is in the folder schema. It stores nothing, and there is no row,
-- unless all of this holds:
-- - the run holds the fence;
-- - seen is the number of the newest message;
-- - the head is the record of log_no, seq and after, is its own base, and not next_removed.
-- If another record follows the head, it has the key of the new one: the statement fails.
-- parameters: id, source, snapshot, commits_previous, step, created, body, thread_no, fence,
--   status, wake, log_no, seq, after, payload, seen
-- returns: stored
SELECT 1 AS stored
FROM (SELECT graph_end($1, $2, $3, $4, $5, $6, $7, $15,
	$8, $9, $10, $16, $11, $12, $13, $14) AS stored) c
WHERE c.stored;

-- name: open_new
-- Begins the next version of a thread, and makes the thread if there is none. The function is in
-- the folder schema. It stores nothing, and there is no row, if a version is open, the labels
-- change, birth is neither 0 nor thread_no, or a message is not untaken. The arrays have an element
-- for each record, each description of a schema and each message.
-- parameters: thread_key, graph, title, labels, priority, holder, lease, status, line,
--   fingerprint, ids, bases, sources, snapshots, committing, steps, times, bodies, payloads,
--   schema_keys, schemas, take, birth
-- returns: thread_no, version, root, posted, now
SELECT thread_no, version, root, posted, now
FROM graph_open($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16,
	$17, $18, $19, $20, $21, $22, $23) o(thread_no, version, root, posted, now);

-- name: put_write_fenced
-- Stores a pending write, and returns a row. Of a base that is committed it stores nothing, but
-- returns a row. The function is in the folder schema. There is no row, and nothing is stored,
-- unless all of this holds:
-- - the run holds the fence;
-- - status is the thread's status, or NULL for any;
-- - seen is the number of the newest message;
-- - the row says that there may be questions, or asked is FALSE;
-- - the lease was given up, or ends in lease_min to lease_max microseconds;
-- - the id of the base is larger than those of packed records.
-- A write with the same key is replaced.
-- parameters: write_key, kind, data, base, thread_key, fence, status, asked, lease_min, lease_max,
--   seen
-- returns: stored
SELECT 1 AS stored
FROM (SELECT graph_put($1, $2, $3, $4, $5, $6, $7, $11, $8, $9, $10,
	false) AS stored) p
WHERE p.stored;

-- name: keep_write_fenced
-- Stores a pending write, and returns a row. Of a base that is committed it stores nothing, but
-- returns a row. The function is in the folder schema. There is no row, and nothing is stored,
-- unless all of this holds:
-- - the run holds the fence;
-- - status is the thread's status, or NULL for any;
-- - seen is the number of the newest message;
-- - the row says that there may be questions, or asked is FALSE;
-- - the lease was given up, or ends in lease_min to lease_max microseconds;
-- - the id of the base is larger than those of packed records.
-- A write with the same key stays as it is.
-- parameters: write_key, kind, data, base, thread_key, fence, status, asked, lease_min, lease_max,
--   seen
-- returns: stored
SELECT 1 AS stored
FROM (SELECT graph_put($1, $2, $3, $4, $5, $6, $7, $11, $8, $9, $10,
	true) AS stored) p
WHERE p.stored;
