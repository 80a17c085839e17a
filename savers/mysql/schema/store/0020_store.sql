-- The tables of the store. A namespace is stored as store.Namespace.Append writes it. Times are microseconds since 1970, in
-- UTC.

CREATE TABLE IF NOT EXISTS graph_store_schema (
	version INT NOT NULL PRIMARY KEY
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS graph_store_item (
	namespace VARBINARY(512) NOT NULL,
	item_key  VARBINARY(512) NOT NULL,
	version   BIGINT         NOT NULL,
	created   BIGINT         NOT NULL,
	updated   BIGINT         NOT NULL,
	expires   BIGINT         NOT NULL COMMENT '0: never',
	ttl       BIGINT         NOT NULL COMMENT 'microseconds from a put or a refresh; 0: expires is fixed',
	entries   MEDIUMBLOB     NOT NULL COMMENT 'the rows of graph_store_index',
	value     LONGBLOB       NOT NULL COMMENT 'ends with a checksum of namespace, item_key and value',
	PRIMARY KEY (namespace, item_key),
	KEY graph_store_item_expires (expires)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The values of the indexes of items.
CREATE TABLE IF NOT EXISTS graph_store_index (
	name      VARBINARY(64)  NOT NULL,
	namespace VARBINARY(512) NOT NULL,
	value     VARBINARY(256) NOT NULL,
	item_key  VARBINARY(512) NOT NULL,
	PRIMARY KEY (name, namespace, value, item_key),
	KEY graph_store_index_value (name, value, namespace, item_key)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The writes that run once.
CREATE TABLE IF NOT EXISTS graph_store_once (
	namespace VARBINARY(512) NOT NULL,
	item_key  VARBINARY(512) NOT NULL,
	once_key  VARBINARY(512) NOT NULL,
	version   BIGINT         NOT NULL COMMENT 'that the write gave the item; 0 for a delete',
	used      BIGINT         NOT NULL,
	PRIMARY KEY (namespace, item_key, once_key),
	KEY graph_store_once_used (used)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Search by meaning: vectors of the texts of items, and the model of each index.

CREATE TABLE IF NOT EXISTS graph_store_vector (
	namespace VARBINARY(512) NOT NULL,
	item_key  VARBINARY(512) NOT NULL,
	part      INT            NOT NULL COMMENT 'the number of the text in the item',
	name      VARBINARY(64)  NOT NULL COMMENT 'of the index',
	hash      BINARY(16)     NOT NULL COMMENT 'of the text',
	vec       MEDIUMBLOB     NOT NULL COMMENT 'numbers of 4 bytes, little-endian, of length 1',
	PRIMARY KEY (namespace, item_key, part)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

CREATE TABLE IF NOT EXISTS graph_store_vector_index (
	name      VARBINARY(64)  NOT NULL,
	model     VARBINARY(256) NOT NULL,
	dims      INT            NOT NULL,
	PRIMARY KEY (name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Full-text search: the words of the texts of items.

CREATE TABLE IF NOT EXISTS graph_store_word (
	name      VARBINARY(64)  NOT NULL COMMENT 'of the index',
	word      VARBINARY(64)  NOT NULL,
	namespace VARBINARY(512) NOT NULL,
	item_key  VARBINARY(512) NOT NULL,
	n         INT            NOT NULL COMMENT 'how often the item has the word',
	total     INT            NOT NULL COMMENT 'the words of the item in the index, with repetitions',
	PRIMARY KEY (name, word, namespace, item_key),
	KEY graph_store_word_item (item_key, namespace, name)
) ENGINE = InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
