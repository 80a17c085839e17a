-- The tables of the store. A namespace is stored as store.Namespace.Append writes it. Times are microseconds since 1970, in
-- UTC.

CREATE TABLE graph_store_schema (
	version INTEGER NOT NULL PRIMARY KEY
);

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

-- Search by meaning: vectors of the texts of items, and the model of each index.

CREATE TABLE graph_store_vector (
	namespace BLOB    NOT NULL,
	item_key  BLOB    NOT NULL,
	part      INTEGER NOT NULL,              -- the number of the text in the item
	name      BLOB    NOT NULL,              -- of the index
	hash      BLOB    NOT NULL,              -- of the text
	vec       BLOB    NOT NULL,              -- numbers of 4 bytes, little-endian, of length 1
	PRIMARY KEY (namespace, item_key, part)
);

CREATE TABLE graph_store_vector_index (
	name      BLOB    NOT NULL,
	model     BLOB    NOT NULL,
	dims      INTEGER NOT NULL,
	PRIMARY KEY (name)
);

-- Full-text search: the words of the texts of items.

CREATE TABLE graph_store_word (
	name      BLOB    NOT NULL,              -- of the index
	word      BLOB    NOT NULL,
	namespace BLOB    NOT NULL,
	item_key  BLOB    NOT NULL,
	n         INTEGER NOT NULL,              -- how often the item has the word
	total     INTEGER NOT NULL,              -- the words of the item in the index, with repetitions
	PRIMARY KEY (name, word, namespace, item_key)
) WITHOUT ROWID;

CREATE INDEX graph_store_word_item ON graph_store_word (item_key, namespace, name);
