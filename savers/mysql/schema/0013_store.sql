-- The tables of the store. A namespace is stored as store.Namespace.Append writes it. Times are microseconds since 1970, in
-- UTC.

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
