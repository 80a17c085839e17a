-- The inboxes of threads. Lists are JSON arrays. Bytes in them are in hex.

-- name: mail
-- Lists the untaken messages of a thread with a number greater than after_number.
-- parameters: thread_key, after_number, limit
-- returns: number, kind, state, posted_at, reason, head, payload
SELECT m.number, m.kind, m.state, m.posted_at, m.reason, m.head, m.payload
FROM graph_thread t JOIN graph_mail m ON m.thread_no = t.thread_no
WHERE t.thread_key = ? AND t.inputs + t.others > 0 AND m.number > ? AND m.state = 0
ORDER BY m.number LIMIT ?;

-- name: refused_mail
-- Lists the refused messages of a thread with a number greater than after_number.
-- parameters: thread_key, after_number, limit
-- returns: number, kind, state, posted_at, reason, head, payload
SELECT m.number, m.kind, m.state, m.posted_at, m.reason, m.head, m.payload
FROM graph_thread t JOIN graph_mail m ON m.thread_no = t.thread_no
WHERE t.thread_key = ? AND m.number > ? AND m.state = 2
ORDER BY m.number LIMIT ?;

-- name: all_mail
-- Lists all messages of a thread that have rows.
-- parameters: thread_no
-- returns: number, kind, state, posted_at, reason, head, payload
SELECT m.number, m.kind, m.state, m.posted_at, m.reason, m.head, m.payload
FROM graph_mail m
WHERE m.thread_no = ?
ORDER BY m.number;

-- name: newest_mail
-- Reads when the newest untaken message of a thread was posted.
-- parameters: thread_no
-- returns: posted_at
SELECT m.posted_at FROM graph_mail m WHERE m.thread_no = ? AND m.state = 0 ORDER BY m.number DESC LIMIT 1;

-- name: news
-- Reads the numbers of the newest messages of threads. keys is a list of thread keys.
-- parameters: keys
-- returns: thread_key, posted
SELECT t.thread_key, t.posted
FROM JSON_TABLE(?, '$[*]' COLUMNS (k VARCHAR(2048) PATH '$')) k STRAIGHT_JOIN graph_thread t ON t.thread_key = UNHEX(k.k);

-- name: find_mail
-- Reads messages of a thread. numbers is a list.
-- parameters: numbers, thread_no
-- returns: number, kind, state, head
SELECT m.number, m.kind, m.state, m.head
FROM JSON_TABLE(?, '$[*]' COLUMNS (n BIGINT PATH '$')) k STRAIGHT_JOIN graph_mail m ON m.thread_no = ? AND m.number = k.n;

-- name: handle_mail
-- Takes or refuses messages of a thread. messages has number, state and reason of each. A message
-- that is taken loses its payload.
-- parameters: messages, thread_no, handled
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (n BIGINT PATH '$[0]', s INT PATH '$[1]', r VARCHAR(2048) PATH '$[2]')) k
	STRAIGHT_JOIN graph_mail m ON m.thread_no = ? AND m.number = k.n
SET m.state = k.s, m.handled = ?, m.reason = UNHEX(k.r), m.payload = CASE k.s WHEN 1 THEN NULL ELSE m.payload END;

-- name: return_mail
-- Makes a message of a thread untaken.
-- parameters: payload, thread_no, number
UPDATE graph_mail SET state = 0, handled = 0, reason = x'', payload = ?
WHERE thread_no = ? AND number = ?;

-- name: refuse_others
-- Refuses the untaken messages of a thread that are no inputs.
-- parameters: reason, handled, thread_no
UPDATE graph_mail SET state = 2, reason = ?, handled = ?
WHERE thread_no = ? AND state = 0 AND kind <> 1;

-- name: forget_mail
-- Removes the messages of a thread that were taken or refused before others. At least one more than
-- offset stay.
-- parameters: thread_no, offset, thread_no
DELETE m
FROM (SELECT handled FROM graph_mail WHERE thread_no = ? AND state > 0 ORDER BY handled DESC LIMIT 1 OFFSET ?) k
	STRAIGHT_JOIN graph_mail m
WHERE m.thread_no = ? AND m.state > 0 AND m.handled < k.handled;

-- name: put_mail
-- Inserts a message.
-- parameters: thread_no, number, id, kind, state, handled, posted_at, reason, head, payload
INSERT INTO graph_mail (thread_no, number, id, kind, state, handled, posted_at, reason, head, payload)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: lock_inboxes
-- Reads the rows of threads and locks them until the transaction ends. keys is a list of thread
-- keys. Without the hint, MySQL scans a small table and locks all of its rows.
-- parameters: keys
-- returns: thread_no, thread_key, version, status, lease_until, wake, attempts, posted,
--   inputs, others, cancels, updated, graph, priority, now
SELECT t.thread_no, t.thread_key, t.version, t.status, t.lease_until, t.wake, t.attempts, t.posted,
	t.inputs, t.others, t.cancels,
	CASE WHEN t.version = 0 AND t.updated = 9223372036854775807 THEN COALESCE((SELECT v.updated FROM graph_version v
		WHERE v.thread_no = t.thread_no AND v.number = t.last_version), t.created) ELSE t.updated END AS updated,
	t.graph, t.priority, TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AS now
FROM JSON_TABLE(?, '$[*]' COLUMNS (k VARCHAR(2048) PATH '$')) k
	STRAIGHT_JOIN graph_thread t FORCE INDEX (graph_thread_key) ON t.thread_key = UNHEX(k.k)
FOR UPDATE;

-- name: known_mail
-- Finds messages by thread_no and id. It reads what is committed, also in a transaction of the
-- caller that sees an earlier moment.
-- parameters: messages
-- returns: thread_no, id, number
SELECT m.thread_no, m.id, m.number
FROM JSON_TABLE(?, '$[*]' COLUMNS (t BIGINT PATH '$[0]', i VARCHAR(32) PATH '$[1]')) k
	STRAIGHT_JOIN graph_mail m FORCE INDEX (graph_mail_id) ON m.thread_no = k.t AND m.id = UNHEX(k.i)
LOCK IN SHARE MODE;

-- name: insert_threads
-- Inserts the rows of threads that have no version yet: thread_key, graph, title and
-- labels of each.
-- parameters: inboxes
INSERT INTO graph_thread (thread_key, graph, title, labels, created, last_version, version, root, versions, status,
	fence, holder, lease_until, updated, asked)
SELECT UNHEX(k.k), UNHEX(k.g), UNHEX(k.t), UNHEX(k.l), TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)),
	0, 0, 0, 0, 0,
	x'00000000000000000000000000000000', x'', 0, 9223372036854775807, FALSE
FROM JSON_TABLE(?, '$[*]' COLUMNS (k VARCHAR(2048) PATH '$[0]', g VARCHAR(400) PATH '$[1]',
	t VARCHAR(2048) PATH '$[2]', l LONGTEXT PATH '$[3]')) k;

-- name: insert_labels
-- Adds labels of stored threads to the list of labels: name, value and thread_key of each.
-- parameters: label_list
INSERT INTO graph_label (name, value, thread_key, created)
SELECT UNHEX(k.n), UNHEX(k.v), t.thread_key, t.created
FROM JSON_TABLE(?, '$[*]' COLUMNS (n VARCHAR(200) PATH '$[0]', v VARCHAR(400) PATH '$[1]', k VARCHAR(2048) PATH '$[2]')) k
	STRAIGHT_JOIN graph_thread t FORCE INDEX (graph_thread_key) ON t.thread_key = UNHEX(k.k);

-- name: insert_mail
-- Inserts untaken messages: thread_no, number, id, kind, posted_at, head and payload of each.
-- parameters: messages
INSERT INTO graph_mail (thread_no, number, id, kind, state, handled, posted_at, reason, head, payload)
SELECT k.t, k.n, UNHEX(k.i), k.k, 0, 0, k.p, x'', UNHEX(k.h), UNHEX(k.d)
FROM JSON_TABLE(?, '$[*]' COLUMNS (t BIGINT PATH '$[0]', n BIGINT PATH '$[1]', i VARCHAR(32) PATH '$[2]', k INT PATH '$[3]',
	p BIGINT PATH '$[4]', h LONGTEXT PATH '$[5]', d LONGTEXT PATH '$[6]')) k;

-- name: update_inboxes
-- Writes columns of the rows of threads: thread_no, status, wake, attempts, posted, inputs, others,
-- cancels, updated, graph and priority of each.
-- parameters: inboxes
UPDATE JSON_TABLE(?, '$[*]' COLUMNS (n BIGINT PATH '$[0]', s INT PATH '$[1]', w BIGINT PATH '$[2]', a INT PATH '$[3]',
	p BIGINT PATH '$[4]', i INT PATH '$[5]', o INT PATH '$[6]', c INT PATH '$[7]', u BIGINT PATH '$[8]',
	g VARCHAR(400) PATH '$[9]', y INT PATH '$[10]')) k
	STRAIGHT_JOIN graph_thread t FORCE INDEX (PRIMARY) ON t.thread_no = k.n
SET t.status = k.s, t.wake = k.w, t.attempts = k.a, t.posted = k.p, t.inputs = k.i, t.others = k.o, t.cancels = k.c,
	t.updated = k.u, t.graph = UNHEX(k.g), t.priority = k.y;
