-- Removing versions and threads.

-- name: remove_version_writes
-- Removes the pending writes of a version.
-- parameters: root
DELETE FROM graph_write WHERE root = $1;

-- name: remove_version_records
-- Removes the records of a version.
-- parameters: root
DELETE FROM graph_checkpoint WHERE root = $1;

-- name: remove_version_packs
-- Removes the packs of a version.
-- parameters: root
DELETE FROM graph_pack WHERE root = $1;

-- name: remove_version_lines
-- Removes the lines of a version.
-- parameters: root
DELETE FROM graph_line WHERE root = $1;

-- name: remove_version_logs
-- Removes the logs of a version.
-- parameters: thread_no, version
DELETE FROM graph_log WHERE thread_no = $1 AND version = $2;

-- name: remove_version_state
-- Removes the readable state of a version.
-- parameters: thread_no, version
DELETE FROM graph_state WHERE thread_no = $1 AND version = $2;

-- name: remove_version
-- Removes a version.
-- parameters: thread_no, number
DELETE FROM graph_version WHERE thread_no = $1 AND number = $2;

-- name: delete_writes
-- Removes the pending writes of a thread, in all its versions.
-- parameters: thread_no
DELETE FROM graph_write WHERE root IN (SELECT root FROM graph_version WHERE thread_no = $1);

-- name: delete_records
-- Removes the records of a thread, in all its versions.
-- parameters: thread_no
DELETE FROM graph_checkpoint WHERE root IN (SELECT root FROM graph_version WHERE thread_no = $1);

-- name: delete_packs
-- Removes the packs of a thread, in all its versions.
-- parameters: thread_no
DELETE FROM graph_pack WHERE root IN (SELECT root FROM graph_version WHERE thread_no = $1);

-- name: delete_lines
-- Removes the lines of a thread, in all its versions.
-- parameters: thread_no
DELETE FROM graph_line WHERE root IN (SELECT root FROM graph_version WHERE thread_no = $1);

-- name: delete_logs
-- Removes the logs of a thread.
-- parameters: thread_no
DELETE FROM graph_log WHERE thread_no = $1;

-- name: delete_state
-- Removes the readable states of a thread.
-- parameters: thread_no
DELETE FROM graph_state WHERE thread_no = $1;

-- name: delete_mail
-- Removes the messages of a thread.
-- parameters: thread_no
DELETE FROM graph_mail WHERE thread_no = $1;

-- name: delete_versions
-- Removes the versions of a thread.
-- parameters: thread_no
DELETE FROM graph_version WHERE thread_no = $1;

-- name: delete_thread
-- Removes a thread's row.
-- parameters: thread_no
DELETE FROM graph_thread WHERE thread_no = $1;
