-- The versions of the tables.

-- name: has_schema
-- Counts the tables that hold the version of the saver's tables: 1, or 0 where there are none.
-- returns: found
SELECT COUNT(*) AS found
FROM information_schema.tables
WHERE table_schema = DATABASE() AND table_name = 'graph_schema';

-- name: schema_version
-- Reads the version of the saver's tables.
-- returns: version
SELECT COALESCE(MAX(version), 0) AS version FROM graph_schema;

-- name: insert_schema_version
-- Says that the saver's tables are of a version.
-- parameters: version
INSERT INTO graph_schema (version) VALUES (?);

-- name: lock_schema
-- Keeps other processes from changing tables. It returns 1 if it does.
-- returns: locked
SELECT GET_LOCK(CONCAT('graphgen_', LEFT(SHA2(DATABASE(), 256), 40)), 30) AS locked;

-- name: unlock_schema
-- Lets other processes change tables again.
-- returns: unlocked
SELECT RELEASE_LOCK(CONCAT('graphgen_', LEFT(SHA2(DATABASE(), 256), 40))) AS unlocked;

-- name: drop_tables
-- Drops all tables, with all threads in them.
DROP TABLE IF EXISTS graph_item, graph_entry,
	graph_state, graph_index, graph_version, graph_message, graph_write, graph_log, graph_record, graph_thread, graph_schema;
