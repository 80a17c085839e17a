-- Loads: place finds what chain reads.

-- name: place
-- Reads a thread, one version, the head of one log, the head of the version's root, and where
-- the record to restore is. Number 0 means the open version, and a NULL at the head. A record that
-- has no row may be in a pack: then found_seq is NULL, and the records of the packs whose ids
-- include it go from first_packed to last_packed. Restoring begins at first_seq, 0 if there is
-- no snapshot.
-- parameters: thread_key, number, ns_key, at
-- returns: thread_no, version, versions, status, fence, holder, lease_until, updated,
--   packed_id, created, thread_graph, title, labels, wake, attempts, posted, inputs, others,
--   cancels, priority, now, number, root, version_status,
--   version_updated, released, log_no, seq, id, step,
--   line_no, line, fingerprint, graph, root_seq, root_id, root_step, found_seq, base,
--   first_packed, last_packed, first_seq
SELECT thread_no, version, versions, status, fence, holder, lease_until, updated,
	packed_id, created, thread_graph, title, labels, wake, attempts, posted, inputs, others, cancels, priority, now,
	number, root, version_status, version_updated, released, log_no, seq, id, step, line_no, line, fingerprint, graph,
	root_seq, root_id, root_step, found_seq, base, first_packed, last_packed, first_seq
FROM graph_place($1, $2, $3, $4);

-- name: chain
-- Reads what restores a record, in rows of several parts, in no order:
-- 1. values of place, which tell whether anything has changed since: version, versions, status,
--    lease_until, updated, log_no, seq, root_seq, and the fence as id;
-- 2. the records with a seq from first to last, and the one before them;
-- 3. the packs that have such records: first_seq, last_seq, whole, and the body;
-- 4. the lines of the records: line_no, fingerprint, the line as id, and the graph as body;
-- 5. the pending writes of the version whose base is not committed: write_no, and data as body;
-- 6. the record base: log_no, seq, and whether it is committed;
-- 7. more values of place, as part 1: posted, inputs, others, cancels, attempts, wake.
-- No line of the log has a number below least_line.
-- parameters: thread_no, number, ns_key, log_no, root, first, last, base, least_line, last_line
-- returns: part, n1, n2, n3, n4, n5, n6, n7, n8, id, parent, base, commits, body, payload
SELECT part, n1, n2, n3, n4, n5, n6, n7, n8, id, parent, base, commits, body, payload
FROM graph_chain($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);
