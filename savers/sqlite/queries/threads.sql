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
	CAST(unixepoch('subsec') * 1000000 AS INTEGER) AS now
FROM graph_thread
WHERE thread_key = ?1;

-- name: lock_thread
-- Reads a thread's row in a transaction that writes. Such a transaction holds the only write lock
-- of the file.
-- parameters: thread_key
-- returns: thread_no, last_version, version, root, versions, status, fence, holder,
--   lease_until, updated, asked, packed_id, created, graph, title, labels, wake,
--   attempts, posted, inputs, others, cancels, priority, now
SELECT thread_no, last_version, version, root, versions, status, fence, holder,
	lease_until, updated, asked, packed_id, created, graph, title, labels, wake, attempts, posted, inputs, others, cancels,
	priority,
	CAST(unixepoch('subsec') * 1000000 AS INTEGER) AS now
FROM graph_thread
WHERE thread_key = ?1;

-- name: insert_thread
-- Inserts the row of a thread that has no version yet.
-- parameters: thread_key, fence, holder
INSERT INTO graph_thread (thread_key, last_version, version, root, versions, status, fence, holder,
	lease_until, updated, asked)
VALUES (?1, 0, 0, 0, 0, 0, ?2, ?3, 0, 9223372036854775807, FALSE);

-- name: update_thread
-- Writes a thread's row, which the transaction has locked.
-- parameters: last_version, version, root, versions, status, fence, holder, lease_until, updated,
--   asked, created, graph, title, labels, wake, attempts, posted, inputs, others, cancels, priority,
--   thread_no
UPDATE graph_thread
SET last_version = ?1, version = ?2, root = ?3, versions = ?4, status = ?5,
	fence = ?6, holder = ?7, lease_until = ?8, updated = ?9, asked = ?10,
	created = ?11, graph = ?12, title = ?13, labels = ?14, wake = ?15, attempts = ?16,
	posted = ?17, inputs = ?18, others = ?19, cancels = ?20, priority = ?21
WHERE thread_no = ?22;

-- name: renew_lease
-- Renews the lease of the run that holds the fence, unless the run gave the lease up. A NULL
-- status leaves the status as it is. It changes no row if the run has lost the thread, or if seen is
-- not the number of the newest message.
-- parameters: status, lease, thread_key, fence, seen
UPDATE graph_thread
SET status = COALESCE(?1, status),
	lease_until = CASE WHEN lease_until = 0 THEN 0
		ELSE CAST(unixepoch('subsec') * 1000000 AS INTEGER) + ?2 END
WHERE thread_key = ?3 AND fence = ?4 AND posted = ?5 AND version > 0;

-- name: end_run
-- Ends the lease of the run that holds the fence, and sets the thread's status and wake. A NULL
-- status leaves the status as it is. A wake in the past is now. A run that failed keeps its
-- attempts. It changes no row if the run has lost the thread, or if seen is not the number of the
-- newest message.
-- parameters: status, wake, thread_key, fence, seen
UPDATE graph_thread
SET status = COALESCE(?1, status), lease_until = 0, updated = CAST(unixepoch('subsec') * 1000000 AS INTEGER),
	wake = CASE WHEN ?2 = 0 THEN 0 WHEN ?2 < CAST(unixepoch('subsec') * 1000000 AS INTEGER) THEN CAST(unixepoch('subsec') * 1000000 AS INTEGER) ELSE ?2 END,
	attempts = CASE WHEN COALESCE(?1, status) = 4 THEN attempts ELSE 0 END
WHERE thread_key = ?3 AND fence = ?4 AND posted = ?5 AND version > 0;

-- name: end_lease
-- Ends the lease of the run that holds the fence, when the saver closes.
-- parameters: thread_key, fence
UPDATE graph_thread
SET lease_until = 0, updated = CAST(unixepoch('subsec') * 1000000 AS INTEGER)
WHERE thread_key = ?1 AND fence = ?2;

-- name: insert_label
-- Adds a label of a thread to the list of labels.
-- parameters: name, value, thread_key, created
INSERT INTO graph_label (name, value, thread_key, created) VALUES (?1, ?2, ?3, ?4);

-- name: remove_label
-- Removes a label of a thread from the list of labels.
-- parameters: name, value, thread_key, created
DELETE FROM graph_label WHERE name = ?1 AND value = ?2 AND thread_key = ?3 AND created = ?4;

-- name: rewake
-- Sets the wake of a thread, which the transaction has locked. A wake in the past is now.
-- parameters: wake, thread_no
UPDATE graph_thread
SET wake = CASE WHEN ?1 = 0 THEN 0 WHEN ?1 < CAST(unixepoch('subsec') * 1000000 AS INTEGER) THEN CAST(unixepoch('subsec') * 1000000 AS INTEGER) ELSE ?1 END
WHERE thread_no = ?2;
