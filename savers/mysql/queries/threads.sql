-- Threads: graph_thread has a row for each, with its open version.

-- name: thread
-- Reads a thread's row.
-- parameters: thread_key
-- returns: thread_no, last_version, version, root, versions, status, fence, holder,
--   lease_until, updated, asked, packed_id, created, graph, title, labels, wake,
--   attempts, posted, inputs, others, cancels, priority, now
SELECT thread_no, last_version, version, root, versions, status, fence, holder,
	lease_until, updated, asked, packed_id, created, graph, title, labels, wake, attempts, posted, inputs, others, cancels,
	priority,
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AS now
FROM graph_thread
WHERE thread_key = ?;

-- name: lock_thread
-- Reads a thread's row and locks it until the transaction ends.
-- parameters: thread_key
-- returns: thread_no, last_version, version, root, versions, status, fence, holder,
--   lease_until, updated, asked, packed_id, created, graph, title, labels, wake,
--   attempts, posted, inputs, others, cancels, priority, now
SELECT thread_no, last_version, version, root, versions, status, fence, holder,
	lease_until, updated, asked, packed_id, created, graph, title, labels, wake, attempts, posted, inputs, others, cancels,
	priority,
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AS now
FROM graph_thread
WHERE thread_key = ?
FOR UPDATE;

-- name: insert_thread
-- Inserts the row of a thread that has no version yet.
-- parameters: thread_key, fence, holder
INSERT INTO graph_thread (thread_key, last_version, version, root, versions, status, fence, holder,
	lease_until, updated, asked)
VALUES (?, 0, 0, 0, 0, 0, ?, ?, 0, 9223372036854775807, FALSE);

-- name: update_thread
-- Writes a thread's row, which the transaction has locked.
-- parameters: last_version, version, root, versions, status, fence, holder, lease_until, updated,
--   asked, created, graph, title, labels, wake, attempts, posted, inputs, others, cancels, priority,
--   thread_no
UPDATE graph_thread
SET last_version = ?, version = ?, root = ?, versions = ?, status = ?,
	fence = ?, holder = ?, lease_until = ?, updated = ?, asked = ?,
	created = ?, graph = ?, title = ?, labels = ?, wake = ?, attempts = ?,
	posted = ?, inputs = ?, others = ?, cancels = ?, priority = ?
WHERE thread_no = ?;

-- name: renew_lease
-- Renews the lease of the run that holds the fence, unless the run gave the lease up. A NULL
-- status leaves the status as it is. It changes no row if the run has lost the thread, or if seen is
-- not the number of the newest message.
-- parameters: status, lease, thread_key, fence, seen
UPDATE graph_thread
SET status = COALESCE(CAST(? AS SIGNED), status),
	lease_until = CASE WHEN lease_until = 0 THEN 0
		ELSE TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) + CAST(? AS SIGNED) END
WHERE thread_key = ? AND fence = ? AND posted = ? AND version > 0;

-- name: end_run
-- Ends the lease of the run that holds the fence, and sets the thread's status and wake. A NULL
-- status leaves the status as it is. A wake in the past is now. A run that failed keeps its
-- attempts. It changes no row if the run has lost the thread, or if seen is not the number of the
-- newest message.
-- parameters: status, wake, wake, wake, status, thread_key, fence, seen
UPDATE graph_thread
SET status = COALESCE(CAST(? AS SIGNED), status), lease_until = 0, updated = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)),
	wake = CASE WHEN CAST(? AS SIGNED) = 0 THEN 0 WHEN ? < TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) THEN TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) ELSE ? END,
	attempts = CASE WHEN COALESCE(CAST(? AS SIGNED), status) = 4 THEN attempts ELSE 0 END
WHERE thread_key = ? AND fence = ? AND posted = ? AND version > 0;

-- name: end_lease
-- Ends the lease of the run that holds the fence, when the saver closes.
-- parameters: thread_key, fence
UPDATE graph_thread
SET lease_until = 0, updated = TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
WHERE thread_key = ? AND fence = ?;

-- name: insert_label
-- Adds a label of a thread to the list of labels.
-- parameters: name, value, thread_key, created
INSERT INTO graph_label (name, value, thread_key, created) VALUES (?, ?, ?, ?);

-- name: remove_label
-- Removes a label of a thread from the list of labels.
-- parameters: name, value, thread_key, created
DELETE FROM graph_label WHERE name = ? AND value = ? AND thread_key = ? AND created = ?;

-- name: rewake
-- Sets the wake of a thread, which the transaction has locked. A wake in the past is now.
-- parameters: wake, wake, wake, thread_no
UPDATE graph_thread
SET wake = CASE WHEN CAST(? AS SIGNED) = 0 THEN 0 WHEN ? < TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) THEN TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) ELSE ? END
WHERE thread_no = ?;
