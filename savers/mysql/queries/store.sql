-- The store: items, their index entries, vectors and words, and the writes that run once.

-- name: store_now
-- Reads the clock of the server.
-- returns: now
SELECT TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AS now;

-- name: store_get
-- Reads an item.
-- parameters: namespace, item_key
-- returns: value, version, created, updated, expires, ttl, entries, now
SELECT value, version, created, updated, expires, ttl, entries,
	TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AS now
FROM graph_store_item
WHERE namespace = ? AND item_key = ?;

-- name: store_lock
-- Reads an item and locks its row until the transaction ends.
-- parameters: namespace, item_key
-- returns: version, created, updated, expires, ttl, entries
SELECT version, created, updated, expires, ttl, entries
FROM graph_store_item
WHERE namespace = ? AND item_key = ?
FOR UPDATE;

-- name: store_lock_all
-- Reads items in order, and locks their rows in that order until the transaction ends. keys is a list of namespaces and
-- keys in hexadecimal, and 1 for an item whose value is read. n is the place of an item in the list. Without the hint,
-- MySQL scans a small table and locks all of its rows.
-- parameters: keys
-- returns: n, version, created, updated, expires, ttl, entries, value
SELECT k.n, i.version, i.created, i.updated, i.expires, i.ttl, i.entries, IF(k.r = 1, i.value, NULL) AS value
FROM JSON_TABLE(?, '$[*]' COLUMNS (
		n FOR ORDINALITY, ns VARCHAR(1024) PATH '$[0]', k VARCHAR(1024) PATH '$[1]', r INT PATH '$[2]')) k
	STRAIGHT_JOIN graph_store_item i FORCE INDEX (PRIMARY) ON i.namespace = UNHEX(k.ns) AND i.item_key = UNHEX(k.k)
FOR UPDATE;

-- name: store_insert
-- Inserts an item.
-- parameters: namespace, item_key, version, created, updated, expires, ttl, entries, value
INSERT INTO graph_store_item (namespace, item_key, version, created, updated, expires, ttl, entries, value)
VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?);

-- name: store_update
-- Replaces the value of an item.
-- parameters: version, created, updated, expires, ttl, entries, value, namespace, item_key
UPDATE graph_store_item
SET version = ?, created = ?, updated = ?, expires = ?, ttl = ?, entries = ?, value = ?
WHERE namespace = ? AND item_key = ?;

-- name: store_touch
-- Moves the end of an item's life, and replaces the list of its index entries.
-- parameters: expires, entries, namespace, item_key
UPDATE graph_store_item
SET expires = ?, entries = ?
WHERE namespace = ? AND item_key = ?;

-- name: store_insert_entry
-- Inserts an index entry.
-- parameters: name, namespace, value, item_key
INSERT INTO graph_store_index (name, namespace, value, item_key)
VALUES (?, ?, ?, ?);

-- name: store_remove_entry
-- Removes an index entry.
-- parameters: name, namespace, value, item_key
DELETE FROM graph_store_index
WHERE name = ? AND namespace = ? AND value = ? AND item_key = ?;

-- name: store_used
-- Reads what a write that runs once has stored.
-- parameters: namespace, item_key, once_key
-- returns: version
SELECT version
FROM graph_store_once
WHERE namespace = ? AND item_key = ? AND once_key = ?;

-- name: store_used_all
-- Reads what writes that run once have stored. uses is a list of namespaces, keys and keys of Once in hexadecimal. n is the
-- place of a write in the list.
-- parameters: uses
-- returns: n, version
SELECT u.n, o.version
FROM JSON_TABLE(?, '$[*]' COLUMNS (
		n FOR ORDINALITY, ns VARCHAR(1024) PATH '$[0]', k VARCHAR(1024) PATH '$[1]', o VARCHAR(1024) PATH '$[2]')) u
	STRAIGHT_JOIN graph_store_once o FORCE INDEX (PRIMARY)
	ON o.namespace = UNHEX(u.ns) AND o.item_key = UNHEX(u.k) AND o.once_key = UNHEX(u.o);

-- name: store_use
-- Remembers a write that runs once.
-- parameters: namespace, item_key, once_key, version, used
INSERT INTO graph_store_once (namespace, item_key, once_key, version, used)
VALUES (?, ?, ?, ?, ?);

-- name: store_find
-- Reads live items of a range of namespaces, by namespace and key. The program inserts conditions on indexes.
-- parameters: first_namespace, end_namespace, limit
-- returns: namespace, item_key, value, version, created, updated, expires
SELECT i.namespace, i.item_key, i.value, i.version, i.created, i.updated, i.expires
FROM graph_store_item i
WHERE i.namespace >= ? AND i.namespace < ?
AND (i.expires = 0 OR i.expires > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))) /* conditions */
ORDER BY i.namespace, i.item_key
LIMIT ?;

-- name: store_find_in
-- Reads live items of one namespace after a key, by key. The program inserts conditions on indexes.
-- parameters: namespace, after_key, limit
-- returns: namespace, item_key, value, version, created, updated, expires
SELECT i.namespace, i.item_key, i.value, i.version, i.created, i.updated, i.expires
FROM graph_store_item i
WHERE i.namespace = ? AND i.item_key > ?
AND (i.expires = 0 OR i.expires > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))) /* conditions */
ORDER BY i.item_key
LIMIT ?;

-- name: store_namespace
-- Reads the first namespace with a live item.
-- parameters: first_namespace, end_namespace
-- returns: namespace
SELECT namespace
FROM graph_store_item
WHERE namespace >= ? AND namespace < ?
AND (expires = 0 OR expires > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))
ORDER BY namespace
LIMIT 1;

-- name: store_expired
-- Reads the keys of items that have expired, and are not deleted.
-- parameters: limit
-- returns: namespace, item_key
SELECT namespace, item_key
FROM graph_store_item
WHERE expires > 0 AND expires <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AND ttl >= 0
ORDER BY expires
LIMIT ?;

-- name: store_purge
-- Removes the rows of items that were deleted long ago.
-- parameters: before, limit
DELETE FROM graph_store_item
WHERE expires > 0 AND expires <= ? AND ttl < 0
ORDER BY expires
LIMIT ?;

-- name: store_forget
-- Forgets writes that ran once, long ago.
-- parameters: age, limit
DELETE FROM graph_store_once
WHERE used < TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) - ?
ORDER BY used
LIMIT ?;

-- name: store_vectors
-- Reads the vectors of an item.
-- parameters: namespace, item_key
-- returns: version, name, hash, vec
SELECT i.version, v.name, v.hash, v.vec
FROM graph_store_vector v JOIN graph_store_item i ON i.namespace = v.namespace AND i.item_key = v.item_key
WHERE v.namespace = ? AND v.item_key = ?
AND (i.expires = 0 OR i.expires > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)))
ORDER BY v.part;

-- name: store_search
-- Reads the vectors of live items in an index. The program inserts conditions on indexes.
-- parameters: first_namespace, end_namespace, name, limit
-- returns: namespace, item_key, vec
SELECT v.namespace, v.item_key, v.vec
FROM graph_store_vector v JOIN graph_store_item i ON i.namespace = v.namespace AND i.item_key = v.item_key
WHERE v.namespace >= ? AND v.namespace < ? AND v.name = ?
AND (i.expires = 0 OR i.expires > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))) /* conditions */
LIMIT ?;

-- name: store_put_vector
-- Inserts a vector of an item.
-- parameters: namespace, item_key, part, name, hash, vec
INSERT INTO graph_store_vector (namespace, item_key, part, name, hash, vec)
VALUES (?, ?, ?, ?, ?, ?);

-- name: store_drop_vector
-- Removes a vector of an item.
-- parameters: namespace, item_key, part
DELETE FROM graph_store_vector
WHERE namespace = ? AND item_key = ? AND part = ?;

-- name: store_declare
-- Inserts a vector index, unless it exists.
-- parameters: name, model, dims
INSERT INTO graph_store_vector_index (name, model, dims)
VALUES (?, ?, ?)
ON DUPLICATE KEY UPDATE name = name;

-- name: store_declared
-- Reads a vector index.
-- parameters: name
-- returns: model, dims
SELECT model, dims
FROM graph_store_vector_index
WHERE name = ?;

-- name: store_words
-- Reads the live items with a word in an index. The program inserts conditions on indexes.
-- parameters: first_namespace, end_namespace, name, word, limit
-- returns: namespace, item_key, n, total
SELECT w.namespace, w.item_key, w.n, w.total
FROM graph_store_word w JOIN graph_store_item i ON i.namespace = w.namespace AND i.item_key = w.item_key
WHERE w.namespace >= ? AND w.namespace < ? AND w.name = ? AND w.word = ?
AND (i.expires = 0 OR i.expires > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))) /* conditions */
LIMIT ?;

-- name: store_put_words
-- Inserts the words of an item in an index: a JSON list of pairs, of a word in hexadecimal and how often the item has it.
-- parameters: name, namespace, item_key, total, words
INSERT INTO graph_store_word (name, word, namespace, item_key, n, total)
SELECT ?, UNHEX(r.word), ?, ?, r.n, ?
FROM JSON_TABLE(?, '$[*]' COLUMNS (word VARCHAR(128) PATH '$[0]', n INT PATH '$[1]')) r;

-- name: store_drop_words
-- Removes the words of an item in an index.
-- parameters: namespace, item_key, name
DELETE FROM graph_store_word
WHERE namespace = ? AND item_key = ? AND name = ?;
