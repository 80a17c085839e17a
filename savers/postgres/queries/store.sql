-- The store: items, their index entries, vectors and words, and the writes that run once.

-- name: store_now
-- Reads the clock of the server.
-- returns: now
SELECT CAST(extract(epoch from clock_timestamp()) * 1000000 AS bigint) AS now;

-- name: store_get
-- Reads an item.
-- parameters: namespace, item_key
-- returns: value, version, created, updated, expires, ttl, entries, now
SELECT value, version, created, updated, expires, ttl, entries,
	CAST(extract(epoch from clock_timestamp()) * 1000000 AS bigint) AS now
FROM graph_store_item
WHERE namespace = $1 AND item_key = $2;

-- name: store_lock
-- Reads an item and locks its row until the transaction ends.
-- parameters: namespace, item_key
-- returns: version, created, updated, expires, ttl, entries
SELECT version, created, updated, expires, ttl, entries
FROM graph_store_item
WHERE namespace = $1 AND item_key = $2
FOR UPDATE;

-- name: store_insert
-- Inserts an item.
-- parameters: namespace, item_key, version, created, updated, expires, ttl, entries, value
INSERT INTO graph_store_item (namespace, item_key, version, created, updated, expires, ttl, entries, value)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9);

-- name: store_update
-- Replaces the value of an item.
-- parameters: version, created, updated, expires, ttl, entries, value, namespace, item_key
UPDATE graph_store_item
SET version = $1, created = $2, updated = $3, expires = $4, ttl = $5, entries = $6, value = $7
WHERE namespace = $8 AND item_key = $9;

-- name: store_touch
-- Moves the end of an item's life, and replaces the list of its index entries.
-- parameters: expires, entries, namespace, item_key
UPDATE graph_store_item
SET expires = $1, entries = $2
WHERE namespace = $3 AND item_key = $4;

-- name: store_insert_entry
-- Inserts an index entry.
-- parameters: name, namespace, value, item_key
INSERT INTO graph_store_index (name, namespace, value, item_key)
VALUES ($1, $2, $3, $4);

-- name: store_remove_entry
-- Removes an index entry.
-- parameters: name, namespace, value, item_key
DELETE FROM graph_store_index
WHERE name = $1 AND namespace = $2 AND value = $3 AND item_key = $4;

-- name: store_used
-- Reads what a write that runs once has stored.
-- parameters: namespace, item_key, once_key
-- returns: version
SELECT version
FROM graph_store_once
WHERE namespace = $1 AND item_key = $2 AND once_key = $3;

-- name: store_use
-- Remembers a write that runs once.
-- parameters: namespace, item_key, once_key, version, used
INSERT INTO graph_store_once (namespace, item_key, once_key, version, used)
VALUES ($1, $2, $3, $4, $5);

-- name: store_find
-- Reads live items of a range of namespaces, by namespace and key. The program inserts conditions on indexes.
-- parameters: first_namespace, end_namespace, limit
-- returns: namespace, item_key, value, version, created, updated, expires
SELECT i.namespace, i.item_key, i.value, i.version, i.created, i.updated, i.expires
FROM graph_store_item i
WHERE i.namespace >= $1 AND i.namespace < $2
AND (i.expires = 0 OR i.expires > CAST(extract(epoch from clock_timestamp()) * 1000000 AS bigint)) /* conditions */
ORDER BY i.namespace, i.item_key
LIMIT $3;

-- name: store_find_in
-- Reads live items of one namespace after a key, by key. The program inserts conditions on indexes.
-- parameters: namespace, after_key, limit
-- returns: namespace, item_key, value, version, created, updated, expires
SELECT i.namespace, i.item_key, i.value, i.version, i.created, i.updated, i.expires
FROM graph_store_item i
WHERE i.namespace = $1 AND i.item_key > $2
AND (i.expires = 0 OR i.expires > CAST(extract(epoch from clock_timestamp()) * 1000000 AS bigint)) /* conditions */
ORDER BY i.item_key
LIMIT $3;

-- name: store_namespace
-- Reads the first namespace with a live item.
-- parameters: first_namespace, end_namespace
-- returns: namespace
SELECT namespace
FROM graph_store_item
WHERE namespace >= $1 AND namespace < $2
AND (expires = 0 OR expires > CAST(extract(epoch from clock_timestamp()) * 1000000 AS bigint))
ORDER BY namespace
LIMIT 1;

-- name: store_expired
-- Reads the keys of items that have expired, and are not deleted.
-- parameters: limit
-- returns: namespace, item_key
SELECT namespace, item_key
FROM graph_store_item
WHERE expires > 0 AND expires <= CAST(extract(epoch from clock_timestamp()) * 1000000 AS bigint) AND ttl >= 0
ORDER BY expires
LIMIT $1;

-- name: store_purge
-- Removes the rows of items that were deleted long ago.
-- parameters: before, limit
DELETE FROM graph_store_item
WHERE (namespace, item_key) IN (
	SELECT namespace, item_key FROM graph_store_item
	WHERE expires > 0 AND expires <= $1 AND ttl < 0
	ORDER BY expires
	LIMIT $2);

-- name: store_forget
-- Forgets writes that ran once, long ago.
-- parameters: age, limit
DELETE FROM graph_store_once
WHERE (namespace, item_key, once_key) IN (
	SELECT namespace, item_key, once_key FROM graph_store_once
	WHERE used < CAST(extract(epoch from clock_timestamp()) * 1000000 AS bigint) - $1
	ORDER BY used
	LIMIT $2);

-- name: store_vectors
-- Reads the vectors of an item.
-- parameters: namespace, item_key
-- returns: version, name, hash, vec
SELECT i.version, v.name, v.hash, array_send(v.vec) AS vec
FROM graph_store_vector v JOIN graph_store_item i ON i.namespace = v.namespace AND i.item_key = v.item_key
WHERE v.namespace = $1 AND v.item_key = $2
AND (i.expires = 0 OR i.expires > CAST(extract(epoch from clock_timestamp()) * 1000000 AS bigint))
ORDER BY v.part;

-- name: store_search
-- Reads the vectors of live items in an index. The program inserts conditions on indexes.
-- parameters: first_namespace, end_namespace, name, limit
-- returns: namespace, item_key, vec
SELECT v.namespace, v.item_key, array_send(v.vec) AS vec
FROM graph_store_vector v JOIN graph_store_item i ON i.namespace = v.namespace AND i.item_key = v.item_key
WHERE v.namespace >= $1 AND v.namespace < $2 AND v.name = $3
AND (i.expires = 0 OR i.expires > CAST(extract(epoch from clock_timestamp()) * 1000000 AS bigint)) /* conditions */
LIMIT $4;

-- name: store_put_vector
-- Inserts a vector of an item.
-- parameters: namespace, item_key, part, name, hash, vec
INSERT INTO graph_store_vector (namespace, item_key, part, name, hash, vec)
VALUES ($1, $2, $3, $4, $5, $6);

-- name: store_drop_vector
-- Removes a vector of an item.
-- parameters: namespace, item_key, part
DELETE FROM graph_store_vector
WHERE namespace = $1 AND item_key = $2 AND part = $3;

-- name: store_declare
-- Inserts a vector index, unless it exists.
-- parameters: name, model, dims
INSERT INTO graph_store_vector_index (name, model, dims)
VALUES ($1, $2, $3)
ON CONFLICT (name) DO NOTHING;

-- name: store_declared
-- Reads a vector index.
-- parameters: name
-- returns: model, dims
SELECT model, dims
FROM graph_store_vector_index
WHERE name = $1;

-- name: store_words
-- Reads the live items with a word in an index. The program inserts conditions on indexes.
-- parameters: first_namespace, end_namespace, name, word, limit
-- returns: namespace, item_key, n, total
SELECT w.namespace, w.item_key, w.n, w.total
FROM graph_store_word w JOIN graph_store_item i ON i.namespace = w.namespace AND i.item_key = w.item_key
WHERE w.namespace >= $1 AND w.namespace < $2 AND w.name = $3 AND w.word = $4
AND (i.expires = 0 OR i.expires > CAST(extract(epoch from clock_timestamp()) * 1000000 AS bigint)) /* conditions */
LIMIT $5;

-- name: store_put_words
-- Inserts the words of an item in an index: a JSON list of pairs, of a word in hexadecimal and how often the item has it.
-- parameters: name, namespace, item_key, total, words
INSERT INTO graph_store_word (name, word, namespace, item_key, n, total)
SELECT $1, decode(r.value ->> 0, 'hex'), $2, $3, CAST(r.value ->> 1 AS integer), $4
FROM jsonb_array_elements(CAST($5 AS text)::jsonb) r;

-- name: store_drop_words
-- Removes the words of an item in an index.
-- parameters: namespace, item_key, name
DELETE FROM graph_store_word
WHERE namespace = $1 AND item_key = $2 AND name = $3;
