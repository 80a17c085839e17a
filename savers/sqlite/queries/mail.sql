-- The inboxes of threads. Lists are JSON arrays. Bytes in them are in hex.

-- name: mail
-- Lists the untaken messages of a thread with a number greater than after_number.
-- parameters: thread_key, after_number, limit
-- returns: number, kind, state, posted_at, reason, head, payload
SELECT m.number, m.kind, m.state, m.posted_at, m.reason, m.head, m.payload
FROM graph_thread t JOIN graph_mail m ON m.thread_no = t.thread_no
WHERE t.thread_key = ?1 AND t.inputs + t.others > 0 AND m.number > ?2 AND m.state = 0
ORDER BY m.number LIMIT +?3;

-- name: refused_mail
-- Lists the refused messages of a thread with a number greater than after_number.
-- parameters: thread_key, after_number, limit
-- returns: number, kind, state, posted_at, reason, head, payload
SELECT m.number, m.kind, m.state, m.posted_at, m.reason, m.head, m.payload
FROM graph_thread t JOIN graph_mail m ON m.thread_no = t.thread_no
WHERE t.thread_key = ?1 AND m.number > ?2 AND m.state = 2
ORDER BY m.number LIMIT +?3;

-- name: all_mail
-- Lists all messages of a thread that have rows.
-- parameters: thread_no
-- returns: number, kind, state, posted_at, reason, head, payload
SELECT m.number, m.kind, m.state, m.posted_at, m.reason, m.head, m.payload
FROM graph_mail m
WHERE m.thread_no = ?1
ORDER BY m.number;

-- name: newest_mail
-- Reads when the newest untaken message of a thread was posted.
-- parameters: thread_no
-- returns: posted_at
SELECT m.posted_at FROM graph_mail m WHERE m.thread_no = ?1 AND m.state = 0 ORDER BY m.number DESC LIMIT 1;

-- name: news
-- Reads the numbers of the newest messages of threads. keys is a list of thread keys.
-- parameters: keys
-- returns: thread_key, posted
SELECT t.thread_key, t.posted
FROM json_each(?1) k CROSS JOIN graph_thread t ON t.thread_key = unhex(k.value);

-- name: find_mail
-- Reads messages of a thread. numbers is a list.
-- parameters: thread_no, numbers
-- returns: number, kind, state, head
SELECT m.number, m.kind, m.state, m.head
FROM json_each(?2) k CROSS JOIN graph_mail m ON m.thread_no = ?1 AND m.number = k.value;

-- name: handle_mail
-- Takes or refuses messages of a thread. messages has number, state and reason of each. A message
-- that is taken loses its payload. Without the table k, SQLite reads all messages of the thread for
-- each of the list.
-- parameters: thread_no, messages, handled
WITH k AS MATERIALIZED (
	SELECT json_extract(value, '$[0]') AS n, json_extract(value, '$[1]') AS s, unhex(json_extract(value, '$[2]')) AS r FROM json_each(?2))
UPDATE graph_mail
SET state = k.s, handled = ?3, reason = k.r, payload = CASE k.s WHEN 1 THEN NULL ELSE payload END
FROM k
WHERE thread_no = ?1 AND number = k.n;

-- name: return_mail
-- Makes a message of a thread untaken.
-- parameters: payload, thread_no, number
UPDATE graph_mail SET state = 0, handled = 0, reason = x'', payload = ?1
WHERE thread_no = ?2 AND number = ?3;

-- name: refuse_others
-- Refuses the untaken messages of a thread that are no inputs.
-- parameters: reason, thread_no, handled
UPDATE graph_mail SET state = 2, handled = ?3, reason = ?1
WHERE thread_no = ?2 AND state = 0 AND kind <> 1;

-- name: forget_mail
-- Removes the messages of a thread that were taken or refused before others. At least one more than
-- offset stay.
-- parameters: thread_no, offset
DELETE FROM graph_mail
WHERE thread_no = ?1 AND state > 0 AND handled < (
	SELECT k.handled FROM graph_mail k WHERE k.thread_no = ?1 AND k.state > 0
	ORDER BY k.handled DESC LIMIT 1 OFFSET +?2);

-- name: put_mail
-- Inserts a message.
-- parameters: thread_no, number, id, kind, state, handled, posted_at, reason, head, payload
INSERT INTO graph_mail (thread_no, number, id, kind, state, handled, posted_at, reason, head, payload)
VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10);

-- name: index_mail
-- Makes the index of ids. The saver runs it before it first stores a message.
CREATE UNIQUE INDEX IF NOT EXISTS graph_mail_id ON graph_mail (thread_no, id);

-- name: lock_inboxes
-- Reads the rows of threads in a transaction that writes. keys is a list of thread keys.
-- parameters: keys
-- returns: thread_no, thread_key, version, status, lease_until, wake, attempts, posted,
--   inputs, others, cancels, updated, graph, priority, now
SELECT t.thread_no, t.thread_key, t.version, t.status, t.lease_until, t.wake, t.attempts, t.posted,
	t.inputs, t.others, t.cancels,
	CASE WHEN t.version = 0 AND t.updated = 9223372036854775807 THEN COALESCE((SELECT v.updated FROM graph_version v
		WHERE v.thread_no = t.thread_no AND v.number = t.last_version), t.created) ELSE t.updated END AS updated,
	t.graph, t.priority, CAST(unixepoch('subsec') * 1000000 AS INTEGER) AS now
FROM json_each(?1) k CROSS JOIN graph_thread t ON t.thread_key = unhex(k.value);

-- name: known_mail
-- Finds messages by thread_no and id.
-- parameters: messages
-- returns: thread_no, id, number
SELECT m.thread_no, m.id, m.number
FROM json_each(?1) k CROSS JOIN graph_mail m
	ON m.thread_no = json_extract(k.value, '$[0]') AND m.id = unhex(json_extract(k.value, '$[1]'));

-- name: insert_threads
-- Inserts the rows of threads that have no version yet: thread_key, graph, title and
-- labels of each.
-- parameters: inboxes
INSERT INTO graph_thread (thread_key, graph, title, labels, created, last_version, version, root, versions, status,
	fence, holder, lease_until, updated, asked)
SELECT unhex(json_extract(value, '$[0]')), unhex(json_extract(value, '$[1]')), unhex(json_extract(value, '$[2]')),
	unhex(json_extract(value, '$[3]')), CAST(unixepoch('subsec') * 1000000 AS INTEGER),
	0, 0, 0, 0, 0,
	x'00000000000000000000000000000000', x'', 0, 9223372036854775807, FALSE
FROM json_each(?1);

-- name: insert_labels
-- Adds labels of stored threads to the list of labels: name, value and thread_key of each.
-- parameters: label_list
INSERT INTO graph_label (name, value, thread_key, created)
SELECT unhex(json_extract(k.value, '$[0]')), unhex(json_extract(k.value, '$[1]')), t.thread_key, t.created
FROM json_each(?1) k CROSS JOIN graph_thread t ON t.thread_key = unhex(json_extract(k.value, '$[2]'));

-- name: insert_mail
-- Inserts untaken messages: thread_no, number, id, kind, posted_at, head and payload of each.
-- parameters: messages
INSERT INTO graph_mail (thread_no, number, id, kind, state, handled, posted_at, reason, head, payload)
SELECT json_extract(value, '$[0]'), json_extract(value, '$[1]'), unhex(json_extract(value, '$[2]')), json_extract(value, '$[3]'),
	0, 0, json_extract(value, '$[4]'), x'', unhex(json_extract(value, '$[5]')), unhex(json_extract(value, '$[6]'))
FROM json_each(?1);

-- name: update_inboxes
-- Writes columns of the rows of threads: thread_no, status, wake, attempts, posted, inputs, others,
-- cancels, updated, graph and priority of each.
-- parameters: inboxes
UPDATE graph_thread
SET status = json_extract(k.value, '$[1]'), wake = json_extract(k.value, '$[2]'), attempts = json_extract(k.value, '$[3]'),
	posted = json_extract(k.value, '$[4]'), inputs = json_extract(k.value, '$[5]'), others = json_extract(k.value, '$[6]'),
	cancels = json_extract(k.value, '$[7]'), updated = json_extract(k.value, '$[8]'), graph = unhex(json_extract(k.value, '$[9]')),
	priority = json_extract(k.value, '$[10]')
FROM json_each(?1) k
WHERE thread_no = json_extract(k.value, '$[0]');
