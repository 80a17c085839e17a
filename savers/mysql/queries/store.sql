-- The store: items, their index entries, and the writes that run once.

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
-- Moves the end of an item's life.
-- parameters: expires, namespace, item_key
UPDATE graph_store_item
SET expires = ?
WHERE namespace = ? AND item_key = ?;

-- name: store_reindex
-- Replaces the list of an item's index entries.
-- parameters: entries, namespace, item_key
UPDATE graph_store_item
SET entries = ?
WHERE namespace = ? AND item_key = ?;

-- name: store_remove
-- Removes an item.
-- parameters: namespace, item_key
DELETE FROM graph_store_item
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

-- name: store_use
-- Remembers a write that runs once.
-- parameters: namespace, item_key, once_key, version, used
INSERT INTO graph_store_once (namespace, item_key, once_key, version, used)
VALUES (?, ?, ?, ?, ?);

-- name: store_find
-- Reads a page of live items, by namespace and key. The program inserts conditions on indexes.
-- parameters: first_namespace, end_namespace, after_namespace, after_namespace, after_key, limit
-- returns: namespace, item_key, value, version, created, updated, expires
SELECT i.namespace, i.item_key, i.value, i.version, i.created, i.updated, i.expires
FROM graph_store_item i
WHERE i.namespace >= ? AND i.namespace < ? AND (i.namespace > ? OR i.namespace = ? AND i.item_key > ?)
AND (i.expires = 0 OR i.expires > TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))) /* conditions */
ORDER BY i.namespace, i.item_key
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
-- Reads the keys of items that have expired.
-- parameters: limit
-- returns: namespace, item_key
SELECT namespace, item_key
FROM graph_store_item
WHERE expires > 0 AND expires <= TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6))
ORDER BY expires
LIMIT ?;

-- name: store_forget
-- Forgets writes that ran once, long ago.
-- parameters: age, limit
DELETE FROM graph_store_once
WHERE used < TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) - ?
ORDER BY used
LIMIT ?;
