-- Removing versions and threads.

-- name: remove_version_writes
-- Removes the pending writes of a version.
-- parameters: root
DELETE FROM graph_write WHERE root = ?;

-- name: remove_version_records
-- Removes the records of a version.
-- parameters: root
DELETE FROM graph_checkpoint WHERE root = ?;

-- name: remove_version_packs
-- Removes the packs of a version.
-- parameters: root
DELETE FROM graph_pack WHERE root = ?;

-- name: remove_version_lines
-- Removes the lines of a version.
-- parameters: root
DELETE FROM graph_line WHERE root = ?;

-- name: remove_version_logs
-- Removes the logs of a version.
-- parameters: thread_no, version
DELETE FROM graph_log WHERE thread_no = ? AND version = ?;

-- name: remove_version_state
-- Removes the readable state of a version.
-- parameters: thread_no, version
DELETE FROM graph_state WHERE thread_no = ? AND version = ?;

-- name: remove_version
-- Removes a version.
-- parameters: thread_no, number
DELETE FROM graph_version WHERE thread_no = ? AND number = ?;

-- name: delete_writes
-- Removes the pending writes of a thread, in all its versions.
-- parameters: thread_no
DELETE graph_write
FROM graph_version v STRAIGHT_JOIN graph_write ON graph_write.root = v.root
WHERE v.thread_no = ?;

-- name: delete_records
-- Removes the records of a thread, in all its versions.
-- parameters: thread_no
DELETE graph_checkpoint
FROM graph_version v STRAIGHT_JOIN graph_checkpoint ON graph_checkpoint.root = v.root
WHERE v.thread_no = ?;

-- name: delete_packs
-- Removes the packs of a thread, in all its versions.
-- parameters: thread_no
DELETE graph_pack
FROM graph_version v STRAIGHT_JOIN graph_pack ON graph_pack.root = v.root
WHERE v.thread_no = ?;

-- name: delete_lines
-- Removes the lines of a thread, in all its versions.
-- parameters: thread_no
DELETE graph_line
FROM graph_version v STRAIGHT_JOIN graph_line ON graph_line.root = v.root
WHERE v.thread_no = ?;

-- name: delete_logs
-- Removes the logs of a thread.
-- parameters: thread_no
DELETE FROM graph_log WHERE thread_no = ?;

-- name: delete_state
-- Removes the readable states of a thread.
-- parameters: thread_no
DELETE FROM graph_state WHERE thread_no = ?;

-- name: delete_mail
-- Removes the messages of a thread.
-- parameters: thread_no
DELETE FROM graph_mail WHERE thread_no = ?;

-- name: delete_versions
-- Removes the versions of a thread.
-- parameters: thread_no
DELETE FROM graph_version WHERE thread_no = ?;

-- name: delete_thread
-- Removes a thread's row.
-- parameters: thread_no
DELETE FROM graph_thread WHERE thread_no = ?;
