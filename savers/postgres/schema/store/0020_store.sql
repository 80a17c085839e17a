-- The tables of the store. A namespace is stored as store.Namespace.Append writes it. Times are microseconds since 1970, in
-- UTC.

CREATE TABLE graph_store_schema (
	version BIGINT  NOT NULL PRIMARY KEY
);

CREATE TABLE graph_store_item (
	namespace BYTEA   NOT NULL,
	item_key  BYTEA   NOT NULL,
	version   BIGINT  NOT NULL,
	created   BIGINT  NOT NULL,
	updated   BIGINT  NOT NULL,
	expires   BIGINT  NOT NULL,              -- 0: never
	ttl       BIGINT  NOT NULL,              -- microseconds from a put or a refresh; 0: expires is fixed
	entries   BYTEA   NOT NULL,              -- the rows of graph_store_index
	value     BYTEA   NOT NULL,              -- ends with a checksum of namespace, item_key and value
	PRIMARY KEY (namespace, item_key)
);

CREATE INDEX graph_store_item_expires ON graph_store_item (expires) WHERE expires > 0;

-- The values of the indexes of items.
CREATE TABLE graph_store_index (
	name      BYTEA NOT NULL,
	namespace BYTEA NOT NULL,
	value     BYTEA NOT NULL,
	item_key  BYTEA NOT NULL,
	PRIMARY KEY (name, namespace, value, item_key)
);

CREATE INDEX graph_store_index_value ON graph_store_index (name, value, namespace, item_key);

-- The writes that run once.
CREATE TABLE graph_store_once (
	namespace BYTEA   NOT NULL,
	item_key  BYTEA   NOT NULL,
	once_key  BYTEA   NOT NULL,
	version   BIGINT  NOT NULL,              -- that the write gave the item; 0 for a delete
	used      BIGINT  NOT NULL,
	PRIMARY KEY (namespace, item_key, once_key)
);

CREATE INDEX graph_store_once_used ON graph_store_once (used);

-- Search by meaning: vectors of the texts of items, and the model of each index.

CREATE TABLE graph_store_vector (
	namespace BYTEA   NOT NULL,
	item_key  BYTEA   NOT NULL,
	part      INTEGER NOT NULL,              -- the number of the text in the item
	name      BYTEA   NOT NULL,              -- of the index
	hash      BYTEA   NOT NULL,              -- of the text
	vec       REAL[]  NOT NULL,              -- of length 1
	PRIMARY KEY (namespace, item_key, part)
);

CREATE TABLE graph_store_vector_index (
	name      BYTEA   NOT NULL,
	model     BYTEA   NOT NULL,
	dims      INTEGER NOT NULL,
	PRIMARY KEY (name)
);

ALTER TABLE graph_store_vector ALTER COLUMN vec SET STORAGE EXTERNAL;

-- Full-text search: the words of the texts of items.

CREATE TABLE graph_store_word (
	name      BYTEA   NOT NULL,              -- of the index
	word      BYTEA   NOT NULL,
	namespace BYTEA   NOT NULL,
	item_key  BYTEA   NOT NULL,
	n         INTEGER NOT NULL,              -- how often the item has the word
	total     INTEGER NOT NULL,              -- the words of the item in the index, with repetitions
	PRIMARY KEY (name, word, namespace, item_key)
);

CREATE INDEX graph_store_word_item ON graph_store_word (item_key, namespace, name);
