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
