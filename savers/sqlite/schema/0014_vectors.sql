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
