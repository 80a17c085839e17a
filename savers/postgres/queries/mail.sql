-- The inboxes of threads.

-- name: mail
-- Lists the untaken messages of a thread with a number greater than after_number.
-- parameters: thread_key, after_number, limit
-- returns: number, kind, state, posted_at, reason, head, payload
SELECT m.number, m.kind, m.state, m.posted_at, m.reason, m.head, m.payload
FROM graph_thread t JOIN graph_mail m ON m.thread_no = t.thread_no
WHERE t.thread_key = $1 AND t.inputs + t.others > 0 AND m.number > $2 AND m.state = 0
ORDER BY m.number LIMIT $3;

-- name: refused_mail
-- Lists the refused messages of a thread with a number greater than after_number.
-- parameters: thread_key, after_number, limit
-- returns: number, kind, state, posted_at, reason, head, payload
SELECT m.number, m.kind, m.state, m.posted_at, m.reason, m.head, m.payload
FROM graph_thread t JOIN graph_mail m ON m.thread_no = t.thread_no
WHERE t.thread_key = $1 AND m.number > $2 AND m.state = 2
ORDER BY m.number LIMIT $3;

-- name: all_mail
-- Lists all messages of a thread that have rows.
-- parameters: thread_no
-- returns: number, kind, state, posted_at, reason, head, payload
SELECT m.number, m.kind, m.state, m.posted_at, m.reason, m.head, m.payload
FROM graph_mail m
WHERE m.thread_no = $1
ORDER BY m.number;

-- name: newest_mail
-- Reads when the newest untaken message of a thread was posted.
-- parameters: thread_no
-- returns: posted_at
SELECT m.posted_at FROM graph_mail m WHERE m.thread_no = $1 AND m.state = 0 ORDER BY m.number DESC LIMIT 1;

-- name: news
-- Reads the numbers of the newest messages of threads. keys is a JSON array of thread keys in hex.
-- parameters: keys
-- returns: thread_key, posted
SELECT t.thread_key, t.posted
FROM json_array_elements_text(CAST($1 AS json)) k JOIN graph_thread t ON t.thread_key = decode(k, 'hex');

-- name: find_mail
-- Reads messages of a thread. numbers is a JSON array.
-- parameters: thread_no, numbers
-- returns: number, kind, state, head
SELECT m.number, m.kind, m.state, m.head
FROM json_array_elements_text(CAST($2 AS json)) k JOIN graph_mail m ON m.thread_no = $1 AND m.number = CAST(k AS bigint);

-- name: handle_mail
-- Takes or refuses messages of a thread. messages is a JSON array of number, state and reason in
-- hex. A message that is taken loses its payload.
-- parameters: thread_no, messages, handled
UPDATE graph_mail
SET state = CAST(k->>1 AS bigint), handled = $3, reason = decode(k->>2, 'hex'),
	payload = CASE k->>1 WHEN '1' THEN NULL ELSE payload END
FROM json_array_elements(CAST($2 AS json)) k
WHERE thread_no = $1 AND number = CAST(k->>0 AS bigint);

-- name: return_mail
-- Makes a message of a thread untaken.
-- parameters: payload, thread_no, number
UPDATE graph_mail SET state = 0, handled = 0, reason = '', payload = $1
WHERE thread_no = $2 AND number = $3;

-- name: refuse_others
-- Refuses the untaken messages of a thread that are no inputs.
-- parameters: reason, thread_no, handled
UPDATE graph_mail SET state = 2, handled = $3, reason = $1
WHERE thread_no = $2 AND state = 0 AND kind <> 1;

-- name: forget_mail
-- Removes the messages of a thread that were taken or refused before others. At least one more than
-- offset stay.
-- parameters: thread_no, offset
DELETE FROM graph_mail
WHERE thread_no = $1 AND state > 0 AND handled < (
	SELECT k.handled FROM graph_mail k WHERE k.thread_no = $1 AND k.state > 0
	ORDER BY k.handled DESC LIMIT 1 OFFSET $2);

-- name: put_mail
-- Inserts a message.
-- parameters: thread_no, number, id, kind, state, handled, posted_at, reason, head, payload
INSERT INTO graph_mail (thread_no, number, id, kind, state, handled, posted_at, reason, head, payload)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- name: post
-- Stores messages in the inboxes of threads. The function is in the folder schema. posts is a JSON
-- array, and payloads an array of the payloads that it refers to. A row is a message, or a post
-- that was refused.
-- parameters: posts, payloads
-- returns: post, message, number, known, fault
SELECT post, message, number, known, fault
FROM graph_post(CAST($1 AS jsonb), CAST($2 AS bytea[])) p(post, message, number, known, fault);
