-- The versions of the tables.

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
