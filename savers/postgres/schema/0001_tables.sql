-- The tables of a saver, for PostgreSQL 13 and later. Ids and names are opaque bytes. Times are microseconds since 1970, in UTC.

CREATE TABLE graph_schema (
	version BIGINT  NOT NULL PRIMARY KEY
);

-- A thread and its open version; version is 0 when there is none. Rows have room to be changed in place.
CREATE TABLE graph_thread (
	thread_no    BIGINT  NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	thread_key   BYTEA   NOT NULL,           -- the id, or of an id longer than 200 bytes its beginning and a hash
	thread_id    BYTEA,                      -- such a long id
	last_version BIGINT  NOT NULL,           -- the newest there ever was
	version      BIGINT  NOT NULL,
	versions     BIGINT  NOT NULL,           -- how many there are
	status       BIGINT  NOT NULL,           -- 1 running, 2 waiting, 3 paused, 4 failed, 5 done; 0 without an open version
	fence        BYTEA   NOT NULL,           -- the record that opened the newest run
	holder       BYTEA   NOT NULL,
	lease_until  BIGINT  NOT NULL,           -- 0 when it was given up
	updated      BIGINT  NOT NULL,
	asked        BIGINT  NOT NULL            -- 1 when there may be open questions
) WITH (fillfactor = 70);

CREATE UNIQUE INDEX graph_thread_key ON graph_thread (thread_key);

CREATE INDEX graph_thread_status ON graph_thread (status, thread_key);

CREATE INDEX graph_thread_updated ON graph_thread (updated);

CREATE TABLE graph_version (
	thread_no BIGINT  NOT NULL,
	number    BIGINT  NOT NULL,
	status    BIGINT  NOT NULL,              -- of a released version; graph_thread has the open one's
	updated   BIGINT  NOT NULL,
	released  BIGINT  NOT NULL,              -- 0 while open
	PRIMARY KEY (thread_no, number)
);

-- The namespaces of subgraphs. The root has number 0, and no row.
CREATE TABLE graph_namespace (
	thread_no BIGINT  NOT NULL,
	version   BIGINT  NOT NULL,
	ns_no     BIGINT  NOT NULL,
	ns_key    BYTEA   NOT NULL,              -- as graph_thread.thread_key
	ns_name   BYTEA,
	PRIMARY KEY (thread_no, version, ns_no)
);

CREATE UNIQUE INDEX graph_namespace_key ON graph_namespace (thread_no, version, ns_key);

-- What the records of a run have in common.
CREATE TABLE graph_line (
	thread_no   BIGINT  NOT NULL,
	version     BIGINT  NOT NULL,
	line_no     BIGINT  NOT NULL,
	line        BYTEA   NOT NULL,
	fingerprint BIGINT  NOT NULL,
	graph       BYTEA   NOT NULL,
	PRIMARY KEY (thread_no, version, line_no)
);

-- Records. flags: 1 to 5 the source, 8 a snapshot, 16 the parent is the record with the seq before, 32 it commits that
-- record, 128 it is committed by another than the next one.
CREATE TABLE graph_checkpoint (
	thread_no BIGINT  NOT NULL,
	version   BIGINT  NOT NULL,
	ns_no     BIGINT  NOT NULL,
	seq       BIGINT  NOT NULL,
	id        BYTEA   NOT NULL,
	line_no   BIGINT  NOT NULL,
	flags     BIGINT  NOT NULL,
	step      BIGINT  NOT NULL,
	created   BIGINT  NOT NULL,
	parent    BYTEA,                         -- when it is not the record with the seq before
	base      BYTEA,                         -- when it is not the record itself
	commits   BYTEA,                         -- when it is not the record with the seq before
	body      BYTEA   NOT NULL,
	PRIMARY KEY (thread_no, version, ns_no, seq)
);

CREATE UNIQUE INDEX graph_checkpoint_id ON graph_checkpoint (thread_no, version, id);

-- Pending writes. Those whose base is committed count for nothing.
CREATE TABLE graph_write (
	write_no  BIGINT  NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	thread_no BIGINT  NOT NULL,
	version   BIGINT  NOT NULL,
	base      BYTEA   NOT NULL,
	write_key BYTEA   NOT NULL,              -- of namespace, task, kind and name
	kind      BIGINT  NOT NULL,              -- 1 result, 2 question, 3 answer, 4 failure
	data      BYTEA   NOT NULL
);

CREATE UNIQUE INDEX graph_write_key ON graph_write (thread_no, version, base, write_key);

-- The state of versions at their newest checkpoints as JSON, of savers that were told to keep it.
CREATE TABLE graph_state (
	thread_no  BIGINT  NOT NULL,
	version    BIGINT  NOT NULL,
	seq        BIGINT  NOT NULL,
	state_json JSONB   NOT NULL,
	PRIMARY KEY (thread_no, version)
);
