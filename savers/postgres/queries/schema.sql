-- The versions of the tables.

-- name: has_schema
-- Counts the tables that hold the version of the saver's tables: 1, or 0 where there are none.
-- returns: found
SELECT COUNT(*) AS found
FROM information_schema.tables
WHERE table_schema = current_schema() AND table_name = 'graph_schema';

-- name: schema_version
-- Reads the version of the saver's tables.
-- returns: version
SELECT COALESCE(MAX(version), 0) AS version FROM graph_schema;

-- name: insert_schema_version
-- Says that the saver's tables are of a version.
-- parameters: version
INSERT INTO graph_schema (version) VALUES ($1);

-- name: lock_schema
-- Keeps other processes from changing tables until the transaction ends. It returns 1.
-- returns: locked
WITH l AS MATERIALIZED (SELECT pg_advisory_xact_lock(hashtext('graphgen ' || current_schema())))
SELECT COUNT(*) AS locked FROM l;

-- name: drop_tables
-- Drops all tables, with all threads in them.
DROP TABLE IF EXISTS graph_vector, graph_item, graph_entry, graph_state, graph_index, graph_version,
	graph_message, graph_write, graph_log, graph_record, graph_thread, graph_schema;

-- name: drop_functions
-- Drops the functions.
DROP FUNCTION IF EXISTS graph_due, graph_apply, graph_commit, graph_lock, graph_read;
