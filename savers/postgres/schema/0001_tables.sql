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

-- The functions below make what is usual one statement with plans that the server keeps, whoever calls. They
-- do nothing when anything is not as usual; then nothing was stored, and the caller finds out why. What they do is
-- the protocol's, written once more: package sqlsaver has it whole.

-- graph_holds returns the thread and the version that a run holds, with its row locked as it is: when it has the fence,
-- and neither status nor lease need to change.
CREATE FUNCTION graph_holds(p_key bytea, p_fence bytea, p_status bigint, p_least bigint, p_most bigint)
RETURNS graph_thread LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	t graph_thread;
	clock bigint;
BEGIN
	SELECT * INTO t FROM graph_thread WHERE thread_key = p_key AND fence = p_fence FOR SHARE;
	IF NOT FOUND OR t.version = 0 OR t.status <> COALESCE(p_status, t.status) THEN
		RETURN NULL;
	END IF;
	clock := extract(epoch from clock_timestamp()) * 1000000;
	IF t.lease_until <> 0 AND t.lease_until NOT BETWEEN clock + p_least AND clock + p_most THEN
		RETURN NULL;
	END IF;
	RETURN t;
END $$;

-- graph_add stores a record after a head that is a base of its own and of the same line.
CREATE FUNCTION graph_add(
	p_thread bigint, p_version bigint, p_ns bigint, p_id bytea, p_flags bigint, p_step bigint, p_created bigint, p_body bytea,
	p_after bytea, p_line bytea, p_fingerprint bigint, p_graph bytea)
RETURNS bigint LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	h graph_checkpoint;
BEGIN
	SELECT seq, id, base, line_no INTO h.seq, h.id, h.base, h.line_no FROM graph_checkpoint
	WHERE thread_no = p_thread AND version = p_version AND ns_no = p_ns ORDER BY seq DESC LIMIT 1;
	IF h.id IS DISTINCT FROM p_after OR h.base IS NOT NULL THEN
		RETURN NULL;
	END IF;
	PERFORM 1 FROM graph_line WHERE thread_no = p_thread AND version = p_version AND line_no = h.line_no
	AND line = p_line AND fingerprint = p_fingerprint AND graph = p_graph;
	IF NOT FOUND THEN
		RETURN NULL;
	END IF;
	INSERT INTO graph_checkpoint (thread_no, version, ns_no, seq, id, line_no, flags, step, created, body)
	VALUES (p_thread, p_version, p_ns, h.seq + 1, p_id, h.line_no, p_flags, p_step, p_created, p_body);
	RETURN h.seq + 1;
END $$;

-- graph_commit stores a plain commit and returns where it stands.
CREATE FUNCTION graph_commit(
	p_id bytea, p_flags bigint, p_step bigint, p_created bigint, p_body bytea, p_after bytea, p_key bytea, p_fence bytea,
	p_status bigint, p_least bigint, p_most bigint, p_line bytea, p_fingerprint bigint, p_graph bytea, p_ns bytea DEFAULT NULL)
RETURNS TABLE (o_version bigint, o_seq bigint) LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	t graph_thread;
	n bigint := 0;
BEGIN
	t := graph_holds(p_key, p_fence, p_status, p_least, p_most);
	IF t.thread_no IS NULL THEN
		RETURN;
	END IF;
	IF p_ns IS NOT NULL THEN
		SELECT ns_no INTO n FROM graph_namespace WHERE thread_no = t.thread_no AND version = t.version AND ns_key = p_ns;
		IF NOT FOUND THEN
			RETURN;
		END IF;
	END IF;
	o_version := t.version;
	o_seq := graph_add(t.thread_no, t.version, n, p_id, p_flags, p_step, p_created, p_body, p_after, p_line, p_fingerprint, p_graph);
	IF o_seq IS NOT NULL THEN
		RETURN NEXT;
	END IF;
END $$;

-- graph_put stores a pending write of a base that is not committed; p_first says that one which stands already wins.
CREATE FUNCTION graph_put(
	p_write bytea, p_kind bigint, p_data bytea, p_base bytea, p_key bytea, p_fence bytea, p_status bigint, p_asked bigint,
	p_least bigint, p_most bigint, p_first boolean)
RETURNS boolean LANGUAGE plpgsql SET enable_seqscan = off AS $$
DECLARE
	t graph_thread;
BEGIN
	t := graph_holds(p_key, p_fence, p_status, p_least, p_most);
	IF t.thread_no IS NULL OR t.asked < p_asked THEN
		RETURN false;
	END IF;
	PERFORM 1 FROM graph_checkpoint b
	LEFT JOIN graph_checkpoint n ON n.thread_no = b.thread_no AND n.version = b.version AND n.ns_no = b.ns_no AND n.seq = b.seq + 1
	WHERE b.thread_no = t.thread_no AND b.version = t.version AND b.id = p_base AND ((b.flags & 128) <> 0 OR (n.flags & 32) <> 0);
	IF FOUND THEN
		RETURN true;
	END IF;
	INSERT INTO graph_write (thread_no, version, base, write_key, kind, data)
	VALUES (t.thread_no, t.version, p_base, p_write, p_kind, p_data)
	ON CONFLICT (thread_no, version, base, write_key) DO UPDATE SET data = excluded.data WHERE NOT p_first;
	RETURN true;
END $$;
