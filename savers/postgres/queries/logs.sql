-- Logs: one for each namespace of a version. Lines: what the records of a run share.

-- name: log
-- Finds the log of a namespace.
-- parameters: thread_no, version, ns_key
-- returns: log_no
SELECT log_no
FROM graph_log
WHERE thread_no = $1 AND version = $2 AND ns_key = $3;

-- name: logs
-- Lists the logs of a version, one for each namespace.
-- parameters: thread_no, version
-- returns: log_no, ns_key, ns_name
SELECT log_no, ns_key, ns_name
FROM graph_log
WHERE thread_no = $1 AND version = $2;

-- name: insert_log
-- Inserts the log of a namespace.
-- parameters: thread_no, version, ns_key, ns_name
-- returns: log_no
INSERT INTO graph_log (thread_no, version, ns_key, ns_name)
VALUES ($1, $2, $3, $4)
RETURNING log_no;

-- name: head
-- Reads the newest record of a log, with its line.
-- parameters: log_no
-- returns: seq, id, step, line_no, line, fingerprint, graph
SELECT c.seq, c.id, c.step, l.line_no, l.line, l.fingerprint, l.graph
FROM graph_checkpoint c JOIN graph_line l ON l.root = c.root AND l.line_no = c.line_no
WHERE c.log_no = $1 AND c.seq = (SELECT MAX(x.seq) FROM graph_checkpoint x WHERE x.log_no = $1);

-- name: root_head
-- Reads the id and step of the newest record of a log.
-- parameters: log_no
-- returns: id, step
SELECT c.id, c.step
FROM graph_checkpoint c
WHERE c.log_no = $1
ORDER BY c.seq DESC LIMIT 1;

-- name: count_records
-- Counts the records of a log.
-- parameters: log_no
-- returns: records
SELECT COUNT(*) + (SELECT CAST(COALESCE(SUM(p.records), 0) AS BIGINT) FROM graph_pack p WHERE p.log_no = $1) AS records
FROM graph_checkpoint c
WHERE c.log_no = $1;

-- name: lines
-- Lists the lines of a version with numbers from first to last.
-- parameters: root, first, last
-- returns: line_no, line, fingerprint, graph
SELECT line_no, line, fingerprint, graph
FROM graph_line
WHERE root = $1 AND line_no BETWEEN $2 AND $3;

-- name: insert_line
-- Inserts a line: what the records of a run share.
-- parameters: root, line_no, line, fingerprint, graph
INSERT INTO graph_line (root, line_no, line, fingerprint, graph)
VALUES ($1, $2, $3, $4, $5);

-- name: remove_lines
-- Removes the lines of a version with numbers from first to last that no record of a log has any
-- more, because all are packed.
-- parameters: root, first, last, log_no
DELETE FROM graph_line
WHERE root = $1 AND line_no BETWEEN $2 AND $3
AND line_no NOT IN (SELECT c.line_no FROM graph_checkpoint c WHERE c.log_no = $4);
