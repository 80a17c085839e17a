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
