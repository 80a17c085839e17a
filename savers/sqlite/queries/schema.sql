-- The versions of the tables. graph_schema has that of the saver, and graph_store_schema that of the store.

-- name: has_schema
-- Counts the tables that hold the version of the saver's tables: 1, or 0 where there are none.
-- returns: found
SELECT COUNT(*) AS found FROM sqlite_master WHERE type = 'table' AND name = 'graph_schema';

-- name: schema_version
-- Reads the version of the saver's tables.
-- returns: version
SELECT COALESCE(MAX(version), 0) AS version FROM graph_schema;

-- name: insert_schema_version
-- Says that the saver's tables are of a version.
-- parameters: version
INSERT INTO graph_schema (version) VALUES (?1);

-- name: has_store_schema
-- Counts the tables that hold the version of the store's tables: 1, or 0 where there are none.
-- returns: found
SELECT COUNT(*) AS found FROM sqlite_master WHERE type = 'table' AND name = 'graph_store_schema';

-- name: store_schema_version
-- Reads the version of the store's tables.
-- returns: version
SELECT COALESCE(MAX(version), 0) AS version FROM graph_store_schema;

-- name: insert_store_schema_version
-- Says that the store's tables are of a version.
-- parameters: version
INSERT INTO graph_store_schema (version) VALUES (?1);
