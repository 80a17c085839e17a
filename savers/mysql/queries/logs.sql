-- Logs: one for each namespace of a version. Lines: what the records of a run share.

-- name: log
-- Finds the log of a namespace.
-- parameters: thread_no, version, ns_key
-- returns: log_no
SELECT log_no
FROM graph_log
WHERE thread_no = ? AND version = ? AND ns_key = ?;

-- name: logs
-- Lists the logs of a version, one for each namespace.
-- parameters: thread_no, version
-- returns: log_no, ns_key, ns_name
SELECT log_no, ns_key, ns_name
FROM graph_log
WHERE thread_no = ? AND version = ?;

-- name: insert_log
-- Inserts the log of a namespace. Its number is the LAST_INSERT_ID.
-- parameters: thread_no, version, ns_key, ns_name
INSERT INTO graph_log (thread_no, version, ns_key, ns_name)
VALUES (?, ?, ?, ?);

-- name: head
-- Reads the newest record of a log, with its line. ORDER BY seq DESC LIMIT 1 would make MariaDB
-- write a temporary table to the disk.
-- parameters: log_no, log_no
-- returns: seq, id, step, line_no, line, fingerprint, graph
SELECT c.seq, c.id, c.step, l.line_no, l.line, l.fingerprint, l.graph
FROM graph_checkpoint c STRAIGHT_JOIN graph_line l ON l.root = c.root AND l.line_no = c.line_no
WHERE c.log_no = ? AND c.seq = (SELECT MAX(x.seq) FROM graph_checkpoint x WHERE x.log_no = ?);

-- name: root_head
-- Reads the id and step of the newest record of a log.
-- parameters: log_no
-- returns: id, step
SELECT c.id, c.step
FROM graph_checkpoint c
WHERE c.log_no = ?
ORDER BY c.seq DESC LIMIT 1;

-- name: count_records
-- Counts the records of a log.
-- parameters: log_no, log_no
-- returns: records
SELECT COUNT(*) + (SELECT CAST(COALESCE(SUM(p.records), 0) AS SIGNED) FROM graph_pack p WHERE p.log_no = ?) AS records
FROM graph_checkpoint c
WHERE c.log_no = ?;

-- name: lines
-- Lists the lines of a version with numbers from first to last.
-- parameters: root, first, last
-- returns: line_no, line, fingerprint, graph
SELECT line_no, line, fingerprint, graph
FROM graph_line
WHERE root = ? AND line_no BETWEEN ? AND ?;

-- name: insert_line
-- Inserts a line: what the records of a run share.
-- parameters: root, line_no, line, fingerprint, graph
INSERT INTO graph_line (root, line_no, line, fingerprint, graph)
VALUES (?, ?, ?, ?, ?);

-- name: remove_lines
-- Removes the lines of a version with numbers from first to last that no record of a log has any
-- more, because all are packed.
-- parameters: root, first, last, log_no
DELETE FROM graph_line
WHERE root = ? AND line_no BETWEEN ? AND ?
AND line_no NOT IN (SELECT c.line_no FROM graph_checkpoint c WHERE c.log_no = ?);
