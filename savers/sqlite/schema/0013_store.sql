-- The tables of the store. A namespace is stored as store.Namespace.Append writes it. Times are microseconds since 1970, in
-- UTC.

CREATE TABLE graph_store_item (
	namespace BLOB    NOT NULL,
	item_key  BLOB    NOT NULL,
	version   INTEGER NOT NULL,
	created   INTEGER NOT NULL,
	updated   INTEGER NOT NULL,
	expires   INTEGER NOT NULL,              -- 0: never
	ttl       INTEGER NOT NULL,              -- microseconds from a put or a refresh; 0: expires is fixed
	entries   BLOB    NOT NULL,              -- the rows of graph_store_index
	value     BLOB    NOT NULL,              -- ends with a checksum of namespace, item_key and value
	PRIMARY KEY (namespace, item_key)
) WITHOUT ROWID;

CREATE INDEX graph_store_item_expires ON graph_store_item (expires) WHERE expires > 0;

-- The values of the indexes of items.
CREATE TABLE graph_store_index (
	name      BLOB NOT NULL,
	namespace BLOB NOT NULL,
	value     BLOB NOT NULL,
	item_key  BLOB NOT NULL,
	PRIMARY KEY (name, namespace, value, item_key)
) WITHOUT ROWID;

CREATE INDEX graph_store_index_value ON graph_store_index (name, value, namespace, item_key);

-- The writes that run once.
CREATE TABLE graph_store_once (
	namespace BLOB    NOT NULL,
	item_key  BLOB    NOT NULL,
	once_key  BLOB    NOT NULL,
	version   INTEGER NOT NULL,              -- that the write gave the item; 0 for a delete
	used      INTEGER NOT NULL,
	PRIMARY KEY (namespace, item_key, once_key)
) WITHOUT ROWID;

CREATE INDEX graph_store_once_used ON graph_store_once (used);
