-- The tables of a saver, for PostgreSQL 13 and later. Ids and names are opaque bytes. Times are microseconds since 1970, in UTC.

CREATE TABLE graph_schema (
	version BIGINT  NOT NULL PRIMARY KEY
);

-- A thread and its open version; version is 0 when there is none. Rows have room to be changed in place.
CREATE TABLE graph_thread (
	thread_no    BIGINT  NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY, -- no later thread gets it: the birth of the thread
	thread_key   BYTEA   NOT NULL,           -- the id
	last_version BIGINT  NOT NULL,           -- the newest there ever was
	version      BIGINT  NOT NULL,
	root         BIGINT  NOT NULL,           -- the log of that version's root
	versions     BIGINT  NOT NULL,           -- how many there are
	status       BIGINT  NOT NULL,           -- 1 running, 2 waiting, 3 paused, 4 failed, 5 done, 6 ready, 7 cancelled; without an open version 6 with inputs, else 0
	fence        BYTEA   NOT NULL,           -- the record that opened the newest run
	holder       BYTEA   NOT NULL,
	lease_until  BIGINT  NOT NULL,           -- 0 when it was given up
	updated      BIGINT  NOT NULL,
	asked        BOOLEAN NOT NULL,           -- there may be open questions
	packed_id    BYTEA   NOT NULL DEFAULT E'\\x00000000000000000000000000000000', -- no packed record has a larger id
	created      BIGINT  NOT NULL DEFAULT 0, -- when the first version began
	graph        BYTEA   NOT NULL DEFAULT '', -- the name of the graph that opened the newest run
	title        BYTEA   NOT NULL DEFAULT '',
	labels       BYTEA   NOT NULL DEFAULT '', -- the rows of graph_label
	wake         BIGINT  NOT NULL DEFAULT 0, -- when the thread is due; 0: never
	attempts     BIGINT  NOT NULL DEFAULT 0, -- openings in a row that followed a crash or a failure
	posted       BIGINT  NOT NULL DEFAULT 0, -- the number of the newest message
	inputs       BIGINT  NOT NULL DEFAULT 0, -- untaken inputs
	others       BIGINT  NOT NULL DEFAULT 0, -- other untaken messages
	cancels      BIGINT  NOT NULL DEFAULT 0, -- how many of these are cancels
	priority     BIGINT  NOT NULL DEFAULT 3  -- 1 urgent, 2 high, 3 normal, 4 low
) WITH (fillfactor = 70);

CREATE UNIQUE INDEX graph_thread_key ON graph_thread (thread_key);

CREATE INDEX graph_thread_created ON graph_thread (created, thread_key);

-- Of the threads that are not done.
CREATE INDEX graph_thread_status ON graph_thread (status, created, thread_key) WHERE status NOT IN (0, 5);

CREATE INDEX graph_thread_graph ON graph_thread (graph, created, thread_key);

CREATE INDEX graph_thread_wake ON graph_thread (graph, priority, wake, thread_no) WHERE wake > 0;

-- The labels of threads, for lists. Only a run that changes labels changes them.
CREATE TABLE graph_label (
	name       BYTEA NOT NULL,
	value      BYTEA NOT NULL,
	thread_key BYTEA NOT NULL,
	created    BIGINT NOT NULL, -- as graph_thread.created
	PRIMARY KEY (name, value, created, thread_key)
);

-- The messages of threads. A row stays when its message was taken, so that the id is known.
CREATE TABLE graph_mail (
	thread_no BIGINT  NOT NULL,
	number    BIGINT  NOT NULL,
	id        BYTEA   NOT NULL,              -- a hash of the message's id
	kind      BIGINT  NOT NULL,              -- 1 input, 2 answer, 3 signal, 4 cancel
	state     BIGINT  NOT NULL,              -- 0 untaken, 1 taken, 2 refused
	handled   BIGINT  NOT NULL,              -- the newest number of the thread when it was taken or refused, else 0
	posted_at BIGINT  NOT NULL,
	reason    BYTEA   NOT NULL,              -- why the message was refused
	head      BYTEA   NOT NULL,              -- id, name and key; ends with a checksum of them and the thread
	payload   BYTEA,                         -- ends with a checksum of it and the thread; NULL: the message was taken
	PRIMARY KEY (thread_no, number)
);

CREATE UNIQUE INDEX graph_mail_id ON graph_mail (thread_no, id);

CREATE TABLE graph_version (
	thread_no BIGINT  NOT NULL,
	number    BIGINT  NOT NULL,
	root      BIGINT  NOT NULL,              -- the log of its root
	status    BIGINT  NOT NULL,              -- of a released version; graph_thread has the open one's
	updated   BIGINT  NOT NULL,
	released  BIGINT  NOT NULL,              -- 0 while open
	PRIMARY KEY (thread_no, number)
);

-- The logs of versions: one of the root, whose ns_key is empty, and one for each namespace of a subgraph.
CREATE TABLE graph_log (
	log_no    BIGINT  NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	thread_no BIGINT  NOT NULL,
	version   BIGINT  NOT NULL,
	ns_key    BYTEA   NOT NULL,              -- the namespace, or of one longer than 200 bytes its beginning and a hash
	ns_name   BYTEA,
	settled   BIGINT  NOT NULL DEFAULT 0     -- packing has looked at the records up to this seq: those with rows keep them
);

CREATE UNIQUE INDEX graph_log_key ON graph_log (thread_no, version, ns_key);

-- What the records of a run have in common.
CREATE TABLE graph_line (
	root        BIGINT  NOT NULL,            -- the log of the version's root
	line_no     BIGINT  NOT NULL,
	line        BYTEA   NOT NULL,
	fingerprint BIGINT  NOT NULL,
	graph       BYTEA   NOT NULL,
	PRIMARY KEY (root, line_no)
);

-- Records. A record is committed when it is marked_committed or the record with the next seq commits_previous.
CREATE TABLE graph_checkpoint (
	log_no           BIGINT   NOT NULL,
	seq              BIGINT   NOT NULL,
	root             BIGINT   NOT NULL,               -- the log of the version's root
	line_no          BIGINT   NOT NULL,
	step             BIGINT   NOT NULL,
	created          BIGINT   NOT NULL,
	source           SMALLINT NOT NULL,               -- 1 input, 2 loop, 3 update, 4 fork, 5 resume
	snapshot         BOOLEAN  NOT NULL,               -- the body holds a whole state, not a change of one
	commits_previous BOOLEAN  NOT NULL,               -- it commits the record with the seq before
	marked_committed BOOLEAN  NOT NULL DEFAULT FALSE, -- a record other than the next one commits it
	next_removed     BOOLEAN  NOT NULL DEFAULT FALSE, -- Prune removed the record with the next seq
	id               BYTEA    NOT NULL,
	parent           BYTEA,                           -- NULL: the record with the seq before, or none if there is no such record; zeros: none
	base             BYTEA,                           -- NULL: the record itself
	commits          BYTEA,                           -- NULL: none, or the record with the seq before if commits_previous
	body             BYTEA    NOT NULL,               -- ends with a checksum of the record, its thread and its namespace; payload has its own in it
	payload          BYTEA,                           -- if it is larger than 256 bytes; else it is in body
	PRIMARY KEY (log_no, seq)
);

CREATE UNIQUE INDEX graph_checkpoint_id ON graph_checkpoint (root, id);

-- Records that follow each other in a log, in one row: old ones, which are read together. No record is in a pack and in a row
-- of its own. The record after a pack holds the ids of its parent and of what it commits itself.
CREATE TABLE graph_pack (
	log_no    BIGINT  NOT NULL,
	first_seq BIGINT  NOT NULL,
	last_seq  BIGINT  NOT NULL,
	root      BIGINT  NOT NULL,              -- the log of the version's root
	first_id  BYTEA   NOT NULL,              -- the smallest and the largest id
	last_id   BYTEA   NOT NULL,
	records   BIGINT  NOT NULL,              -- how many there are
	whole     BOOLEAN NOT NULL,              -- the first has a snapshot
	body      BYTEA   NOT NULL,              -- ends with a checksum of it, its thread, its namespace and its place
	PRIMARY KEY (log_no, last_seq)
);

CREATE INDEX graph_pack_id ON graph_pack (root, last_id);

-- Pending writes. Those whose base is committed count for nothing.
CREATE TABLE graph_write (
	write_no  BIGINT  NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	root      BIGINT  NOT NULL,              -- the log of the version's root
	base      BYTEA   NOT NULL,              -- 0 for the description of a schema
	write_key BYTEA   NOT NULL,              -- of namespace, task, kind and name
	kind      BIGINT  NOT NULL,              -- 1 result, 2 question, 3 answer, 4 failure, 6 the description of a schema, 7 outcome
	data      BYTEA   NOT NULL
);

CREATE UNIQUE INDEX graph_write_key ON graph_write (root, base, write_key);

-- The state of versions as JSON, as their newest run that ended left it, of savers that were told to keep it.
CREATE TABLE graph_state (
	thread_no  BIGINT  NOT NULL,
	version    BIGINT  NOT NULL,
	seq        BIGINT  NOT NULL,
	state_json JSONB   NOT NULL,
	PRIMARY KEY (thread_no, version)
);

-- The functions below are statements that run often. The server keeps their plans for every caller. A plan is the same
-- for all parameters, finds rows by indexes, and is as good for large tables as for empty ones.

-- graph_commit stores a record after the head that the run knows, with that head's line, and returns true. If it returns
-- false, it stored nothing, and the caller runs a transaction instead. It returns false unless all of this holds:
-- - the run holds the fence;
-- - p_status is the thread's status, or NULL for any;
-- - p_seen is the number of the newest message;
-- - the lease was given up, or ends in p_least to p_most microseconds;
-- - the head is the record of p_log, p_seq and p_after, is its own base, and not next_removed.
-- If another record follows the head, it has the key of the new one: the function fails. The thread's row stays locked
-- against changes until the transaction ends.
CREATE FUNCTION graph_commit(
	p_id bytea, p_source bigint, p_snapshot boolean, p_commits_previous boolean, p_step bigint, p_created bigint, p_body bytea, p_payload bytea,
	p_thread bigint, p_fence bytea,
	p_status bigint, p_seen bigint, p_least bigint, p_most bigint, p_log bigint, p_seq bigint, p_after bytea)
RETURNS boolean LANGUAGE plpgsql SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
	t_root bigint;
	t_until bigint;
	clock bigint;
BEGIN
	SELECT root, lease_until INTO t_root, t_until FROM graph_thread
	WHERE thread_no = p_thread AND fence = p_fence AND status = COALESCE(p_status, status) AND posted = p_seen FOR SHARE;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	clock := extract(epoch from clock_timestamp()) * 1000000;
	IF t_until <> 0 AND t_until NOT BETWEEN clock + p_least AND clock + p_most THEN
		RETURN false;
	END IF;
	INSERT INTO graph_checkpoint (log_no, seq, root, id, line_no, source, snapshot, commits_previous, step, created, body, payload)
	SELECT p_log, p_seq + 1, t_root, p_id, h.line_no, p_source, p_snapshot, p_commits_previous, p_step, p_created, p_body, p_payload
	FROM graph_checkpoint h
	WHERE h.log_no = p_log AND h.seq = p_seq AND h.id = p_after AND h.root = t_root AND h.base IS NULL AND NOT h.next_removed;
	RETURN FOUND;
END $$;

-- graph_end stores a record after the head that the run knows, as graph_commit does, and ends the run: it ends the lease,
-- and sets the status and the wake of the thread. A wake in the past is now. A run that failed keeps its attempts. It
-- returns true. If it returns false, it stored nothing, and the caller runs a transaction instead. It returns false unless
-- all of this holds:
-- - the run holds the fence;
-- - p_seen is the number of the newest message;
-- - the head is the record of p_log, p_seq and p_after, is its own base, and not next_removed.
CREATE FUNCTION graph_end(
	p_id bytea, p_source bigint, p_snapshot boolean, p_commits_previous boolean, p_step bigint, p_created bigint, p_body bytea, p_payload bytea,
	p_thread bigint, p_fence bytea,
	p_status bigint, p_seen bigint, p_wake bigint, p_log bigint, p_seq bigint, p_after bytea)
RETURNS boolean LANGUAGE plpgsql SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
	t_root bigint;
	clock bigint;
BEGIN
	SELECT root INTO t_root FROM graph_thread
	WHERE thread_no = p_thread AND fence = p_fence AND version > 0 AND posted = p_seen FOR UPDATE;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	INSERT INTO graph_checkpoint (log_no, seq, root, id, line_no, source, snapshot, commits_previous, step, created, body, payload)
	SELECT p_log, p_seq + 1, t_root, p_id, h.line_no, p_source, p_snapshot, p_commits_previous, p_step, p_created, p_body, p_payload
	FROM graph_checkpoint h
	WHERE h.log_no = p_log AND h.seq = p_seq AND h.id = p_after AND h.root = t_root AND h.base IS NULL AND NOT h.next_removed;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	clock := extract(epoch from clock_timestamp()) * 1000000;
	UPDATE graph_thread
	SET status = COALESCE(p_status, status), lease_until = 0, updated = clock,
		wake = CASE WHEN p_wake = 0 THEN 0 ELSE GREATEST(p_wake, clock) END,
		attempts = CASE WHEN COALESCE(p_status, status) = 4 THEN attempts ELSE 0 END
	WHERE thread_no = p_thread;
	RETURN true;
END $$;

-- graph_open begins the next version of a thread with its first records, and makes the thread if there is none. The records
-- have one line and follow each other; each array has one element for each record, p_write_keys and p_writes one for each
-- description of a schema, and p_take the numbers of the messages that the opening takes. It returns no row, and stored
-- nothing, if a version is open, the labels change, p_birth is neither 0 nor the number of the thread, or a message is not
-- untaken; the caller runs a transaction instead.
CREATE FUNCTION graph_open(
	p_key bytea, p_graph bytea, p_title bytea, p_labels bytea, p_priority bigint, p_holder bytea, p_lease bigint, p_status bigint,
	p_line bytea, p_fingerprint bigint, p_ids bytea[], p_bases bytea[], p_sources bigint[], p_snapshots boolean[], p_commits_previous boolean[],
	p_steps bigint[], p_created bigint[], p_bodies bytea[], p_payloads bytea[], p_write_keys bytea[], p_writes bytea[], p_take bigint[],
	p_birth bigint)
RETURNS TABLE (o_thread bigint, o_version bigint, o_root bigint, o_posted bigint, o_now bigint)
LANGUAGE plpgsql SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
	t graph_thread%ROWTYPE;
	made boolean := false;
	took_inputs bigint := 0;
	took_others bigint := 0;
	took_cancels bigint := 0;
BEGIN
	LOOP
		SELECT * INTO t FROM graph_thread WHERE thread_key = p_key FOR UPDATE;
		EXIT WHEN FOUND;
		IF p_labels <> '' OR p_birth <> 0 OR cardinality(p_take) > 0 THEN
			RETURN;
		END IF;
		-- The indexed columns are as the UPDATE below leaves them, so that it makes no new index entries.
		o_now := extract(epoch from clock_timestamp()) * 1000000;
		INSERT INTO graph_thread (thread_key, last_version, version, root, versions, status, fence, holder, lease_until, updated, asked,
			created, graph, wake, priority)
		VALUES (p_key, 0, 0, 0, 0, p_status, E'\\x00000000000000000000000000000000', '', 0, o_now, FALSE,
			o_now, p_graph, o_now + p_lease, COALESCE(NULLIF(p_priority, 0), 3))
		ON CONFLICT (thread_key) DO NOTHING;
		made := FOUND;
	END LOOP;
	IF t.version > 0 OR p_labels <> '' AND p_labels <> t.labels
		OR p_birth NOT IN (0, t.thread_no) OR (SELECT COUNT(*) FROM graph_mail k
			WHERE k.thread_no = t.thread_no AND k.number = ANY (p_take) AND k.state = 0) < cardinality(p_take) THEN
		RETURN;
	END IF;
	IF NOT made THEN
		o_now := extract(epoch from clock_timestamp()) * 1000000;
	END IF;
	o_thread := t.thread_no;
	o_version := t.last_version + 1;
	o_posted := t.posted;
	INSERT INTO graph_log (thread_no, version, ns_key) VALUES (o_thread, o_version, '') RETURNING log_no INTO o_root;
	INSERT INTO graph_version (thread_no, number, root, status, updated, released) VALUES (o_thread, o_version, o_root, 1, o_now, 0);
	INSERT INTO graph_line (root, line_no, line, fingerprint, graph) VALUES (o_root, 1, p_line, p_fingerprint, p_graph);
	-- No array has NULLs, because array_nulls = off makes texts of them: an empty base or payload is none.
	INSERT INTO graph_checkpoint (log_no, seq, root, line_no, id, base, source, snapshot, commits_previous, step, created, body, payload)
	SELECT o_root, r.seq, o_root, 1, r.id, NULLIF(r.base, ''), r.source, r.snapshot, r.commits_previous, r.step, r.created, r.body,
		NULLIF(r.payload, '')
	FROM unnest(p_ids, p_bases, p_sources, p_snapshots, p_commits_previous, p_steps, p_created, p_bodies, p_payloads)
		WITH ORDINALITY r(id, base, source, snapshot, commits_previous, step, created, body, payload, seq);
	IF cardinality(p_write_keys) > 0 THEN
		INSERT INTO graph_write (root, base, write_key, kind, data)
		SELECT o_root, E'\\x00000000000000000000000000000000', w.write_key, 6, w.data
		FROM unnest(p_write_keys, p_writes) WITH ORDINALITY w(write_key, data, at) ORDER BY w.at
		ON CONFLICT (root, base, write_key) DO NOTHING;
	END IF;
	IF cardinality(p_take) > 0 THEN
		WITH m AS (
			UPDATE graph_mail g SET state = 1, handled = o_posted, payload = NULL
			WHERE g.thread_no = o_thread AND g.number = ANY (p_take) AND g.state = 0
			RETURNING g.kind
		)
		SELECT COUNT(*) FILTER (WHERE m.kind = 1), COUNT(*) FILTER (WHERE m.kind > 1), COUNT(*) FILTER (WHERE m.kind = 4)
		INTO took_inputs, took_others, took_cancels FROM m;
	END IF;
	UPDATE graph_thread g
	SET last_version = o_version, version = o_version, root = o_root, versions = g.versions + 1, status = p_status,
		fence = p_ids[1], holder = p_holder, lease_until = o_now + p_lease, updated = o_now, asked = FALSE,
		created = CASE WHEN g.created = 0 THEN o_now ELSE g.created END,
		graph = COALESCE(NULLIF(p_graph, ''), g.graph), title = COALESCE(NULLIF(p_title, ''), g.title),
		wake = o_now + p_lease, attempts = 0,
		inputs = g.inputs - took_inputs, others = g.others - took_others, cancels = g.cancels - took_cancels,
		priority = COALESCE(NULLIF(p_priority, 0), g.priority)
	WHERE g.thread_no = o_thread;
	RETURN NEXT;
END $$;

-- graph_ready lists the threads of a graph by wake, from p_low on, due or not: up to p_limit of each priority. If there is
-- none, it returns the time alone.
CREATE FUNCTION graph_ready(p_graph bytea, p_low bigint, p_limit bigint)
RETURNS TABLE (
	o_now bigint, o_thread bigint, o_key bytea, o_status bigint, o_priority bigint, o_wake bigint, o_until bigint,
	o_fence bytea, o_attempts bigint, o_posted bigint, o_labels bytea)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
	any_found boolean := false;
BEGIN
	o_now := extract(epoch from clock_timestamp()) * 1000000;
	FOR priority_no IN 1..4 LOOP
		RETURN QUERY SELECT o_now, t.thread_no, t.thread_key, t.status, t.priority, t.wake, t.lease_until, t.fence, t.attempts,
			t.posted, t.labels
		FROM graph_thread t
		WHERE t.graph = p_graph AND t.priority = priority_no AND t.wake >= p_low AND t.wake > 0
		ORDER BY t.wake, t.thread_no LIMIT p_limit;
		any_found := any_found OR FOUND;
	END LOOP;
	IF NOT any_found THEN
		RETURN NEXT;
	END IF;
END $$;

-- graph_reserve moves the wakes of threads that are still due at p_due. Those of p_free are due again in p_reserve
-- microseconds, or when their lease ends. Those of p_leased are due when their lease ends, and stay as they are if it has
-- ended. It leaves out threads that another transaction has locked. It returns the threads that it moved, with the wakes
-- that they had. The commit does not wait for the disk: if a crash of the server loses it, the threads are due earlier.
CREATE FUNCTION graph_reserve(p_graph bytea, p_free bigint[], p_leased bigint[], p_due bigint, p_reserve bigint)
RETURNS TABLE (
	o_now bigint, o_thread bigint, o_key bytea, o_status bigint, o_priority bigint, o_wake bigint, o_until bigint,
	o_fence bytea, o_attempts bigint, o_posted bigint, o_labels bytea)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
	PERFORM set_config('synchronous_commit', 'off', true);
	o_now := extract(epoch from clock_timestamp()) * 1000000;
	FOR o_thread, o_key, o_status, o_priority, o_wake, o_until, o_fence, o_attempts, o_posted, o_labels IN
		SELECT t.thread_no, t.thread_key, t.status, t.priority, t.wake, t.lease_until, t.fence, t.attempts, t.posted, t.labels
		FROM graph_thread t
		WHERE t.thread_no = ANY (p_free || p_leased) AND t.graph = p_graph AND t.wake > 0 AND t.wake <= p_due
			AND (t.lease_until > o_now OR t.thread_no = ANY (p_free))
		FOR UPDATE SKIP LOCKED
	LOOP
		UPDATE graph_thread g SET wake = CASE WHEN o_until > o_now THEN o_until ELSE o_now + p_reserve END WHERE g.thread_no = o_thread;
		RETURN NEXT;
	END LOOP;
END $$;

-- graph_put stores a pending write and returns true; of a base that is committed it stores nothing. A write with the same
-- key stays as it is if p_first, and is replaced otherwise. It returns false unless all of this holds:
-- - the run holds the fence;
-- - p_status is the thread's status, or NULL for any;
-- - p_seen is the number of the newest message;
-- - the row says that there may be questions, or p_asked is false;
-- - the lease was given up, or ends in p_least to p_most microseconds;
-- - p_base is larger than the ids of packed records.
CREATE FUNCTION graph_put(
	p_write bytea, p_kind bigint, p_data bytea, p_base bytea, p_key bytea, p_fence bytea, p_status bigint, p_seen bigint, p_asked boolean,
	p_least bigint, p_most bigint, p_first boolean)
RETURNS boolean LANGUAGE plpgsql SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
	t_root bigint;
	t_until bigint;
	clock bigint;
BEGIN
	SELECT root, lease_until INTO t_root, t_until FROM graph_thread
	WHERE thread_key = p_key AND fence = p_fence AND version > 0 AND status = COALESCE(p_status, status) AND posted = p_seen AND (asked OR NOT p_asked)
	AND packed_id < p_base FOR SHARE;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	clock := extract(epoch from clock_timestamp()) * 1000000;
	IF t_until <> 0 AND t_until NOT BETWEEN clock + p_least AND clock + p_most THEN
		RETURN false;
	END IF;
	PERFORM 1 FROM graph_checkpoint b LEFT JOIN graph_checkpoint n ON n.log_no = b.log_no AND n.seq = b.seq + 1
	WHERE b.root = t_root AND b.id = p_base AND (b.marked_committed OR n.commits_previous);
	IF FOUND THEN
		RETURN true;
	END IF;
	INSERT INTO graph_write (root, base, write_key, kind, data) VALUES (t_root, p_base, p_write, p_kind, p_data)
	ON CONFLICT (root, base, write_key) DO UPDATE SET data = excluded.data WHERE NOT p_first;
	RETURN true;
END $$;

-- graph_post stores messages in the inboxes of threads, one post after the other. A post is an object:
-- - key, graph, title, labels: of the thread, in hex; the row is made if there is none;
-- - priority: the new one of the thread, or 0;
-- - label_list: the labels as an array of name and value in hex;
-- - idle, max_inputs, max_others: conditions;
-- - messages: an array of id, kind, head, in hex, and payload, an index into p_payloads; kind 5 makes the thread due,
--   and is not stored.
-- It returns the number of each message, and whether the id was known. Of a post that is refused it returns one row with
-- the fault: 1 too many inputs, 2 too many other messages, 3 the thread is not idle.
CREATE FUNCTION graph_post(p_posts jsonb, p_payloads bytea[])
RETURNS TABLE (o_post bigint, o_message bigint, o_number bigint, o_known boolean, o_fault bigint)
LANGUAGE plpgsql SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
	p jsonb;
	m jsonb;
	t graph_thread%ROWTYPE;
	key bytea;
	clock bigint;
	new_inputs bigint;
	new_others bigint;
	new_cancels bigint;
	wakes bigint;
	last bigint;
BEGIN
	FOR o_post, p IN SELECT a.at, a.post FROM jsonb_array_elements(p_posts) WITH ORDINALITY a(post, at) LOOP
		key := decode(p->>'key', 'hex');
		LOOP
			SELECT * INTO t FROM graph_thread WHERE thread_key = key FOR UPDATE;
			clock := extract(epoch from clock_timestamp()) * 1000000;
			SELECT COUNT(*) FILTER (WHERE n.kind = 1), COUNT(*) FILTER (WHERE n.kind IN (2, 3)),
				COUNT(*) FILTER (WHERE n.kind = 4), COUNT(*) FILTER (WHERE n.kind = 5)
			INTO new_inputs, new_others, new_cancels, wakes
			FROM jsonb_to_recordset(p->'messages') n(id text, kind bigint)
			WHERE n.kind = 5 OR NOT EXISTS (SELECT 1 FROM graph_mail k WHERE k.thread_no = t.thread_no AND k.id = decode(n.id, 'hex'));
			o_fault := CASE
				WHEN new_inputs + new_others + new_cancels + wakes = 0 THEN 0
				WHEN CAST(p->>'idle' AS boolean) AND (t.inputs > 0 OR t.version > 0 AND (t.lease_until > clock OR t.status NOT IN (5, 7))) THEN 3
				WHEN new_inputs > 0 AND COALESCE(t.inputs, 0) + new_inputs > CAST(p->>'max_inputs' AS bigint) THEN 1
				WHEN new_others > 0 AND COALESCE(t.others, 0) + new_others > CAST(p->>'max_others' AS bigint) THEN 2
				ELSE 0 END;
			EXIT WHEN t.thread_no IS NOT NULL OR o_fault > 0;
			-- The indexed columns are as the UPDATE below leaves them, so that it makes no new index entries.
			INSERT INTO graph_thread (thread_key, graph, title, labels, created, last_version, version, root, versions, status,
				fence, holder, lease_until, updated, asked, wake, priority)
			VALUES (key, decode(p->>'graph', 'hex'), decode(p->>'title', 'hex'), decode(p->>'labels', 'hex'), clock,
				0, 0, 0, 0, CASE WHEN new_inputs > 0 THEN 6 ELSE 0 END, E'\\x00000000000000000000000000000000', '', 0,
				CASE WHEN new_inputs > 0 THEN clock ELSE 9223372036854775807 END, FALSE,
				CASE WHEN new_inputs + wakes > 0 THEN clock ELSE 0 END, COALESCE(NULLIF(CAST(p->>'priority' AS bigint), 0), 3))
			ON CONFLICT (thread_key) DO NOTHING;
			IF FOUND THEN
				INSERT INTO graph_label (name, value, thread_key, created)
				SELECT decode(l->>0, 'hex'), decode(l->>1, 'hex'), key, clock FROM jsonb_array_elements(p->'label_list') l;
			END IF;
		END LOOP;
		IF o_fault > 0 THEN
			RETURN NEXT;
			CONTINUE;
		END IF;
		last := t.posted;
		FOR o_message, m IN SELECT a.at, a.message FROM jsonb_array_elements(p->'messages') WITH ORDINALITY a(message, at) LOOP
			o_number := NULL;
			IF CAST(m->>'kind' AS bigint) < 5 THEN
				SELECT k.number INTO o_number FROM graph_mail k WHERE k.thread_no = t.thread_no AND k.id = decode(m->>'id', 'hex');
			END IF;
			o_known := o_number IS NOT NULL;
			IF NOT o_known THEN
				last := last + 1;
				o_number := last;
				INSERT INTO graph_mail (thread_no, number, id, kind, state, handled, posted_at, reason, head, payload)
				SELECT t.thread_no, last, decode(m->>'id', 'hex'), CAST(m->>'kind' AS bigint), 0, 0, clock, '',
					decode(m->>'head', 'hex'), p_payloads[CAST(m->>'payload' AS bigint)]
				WHERE CAST(m->>'kind' AS bigint) < 5;
			END IF;
			RETURN NEXT;
		END LOOP;
		UPDATE graph_thread g
		SET posted = last, inputs = g.inputs + new_inputs, others = g.others + new_others + new_cancels,
			cancels = g.cancels + new_cancels,
			attempts = CASE WHEN wakes > 0 THEN 0 ELSE g.attempts END,
			priority = COALESCE(NULLIF(CAST(p->>'priority' AS bigint), 0), g.priority),
			graph = CASE WHEN g.graph = '' THEN decode(p->>'graph', 'hex') ELSE g.graph END,
			updated = CASE WHEN g.version > 0 OR g.updated < 9223372036854775807 OR g.inputs + new_inputs = 0 THEN g.updated
				ELSE COALESCE((SELECT v.updated FROM graph_version v WHERE v.thread_no = g.thread_no AND v.number = g.last_version), g.created) END,
			status = CASE WHEN g.version = 0 AND g.inputs + new_inputs > 0 THEN 6 ELSE g.status END,
			wake = CASE WHEN g.version > 0 AND g.lease_until > clock OR g.wake BETWEEN 1 AND clock
				OR g.version = 0 AND new_inputs + wakes = 0 THEN g.wake ELSE clock END
		WHERE g.thread_no = t.thread_no AND last > t.posted;
	END LOOP;
END $$;

-- graph_place reads a thread, one version, the head of one log, the head of the version's root, and where the record to
-- restore is. p_number 0 means the open version, and a p_at that is NULL the head. Each statement reads one table. A join
-- of all tables takes longer to plan than to run, and a plan that was made for small tables reads too much of larger ones.
CREATE FUNCTION graph_place(p_thread bytea, p_number bigint, p_namespace bytea, p_at bytea)
RETURNS TABLE (
	thread_no bigint, version bigint, versions bigint, status bigint, fence bytea, holder bytea,
	lease_until bigint, updated bigint, packed_id bytea, created bigint, thread_graph bytea, title bytea, labels bytea,
	wake bigint, attempts bigint, posted bigint, inputs bigint, others bigint, cancels bigint, priority bigint,
	now bigint, number bigint, root bigint, version_status bigint, version_updated bigint, released bigint, log_no bigint,
	seq bigint, id bytea, step bigint, line_no bigint, line bytea, fingerprint bigint, graph bytea, root_seq bigint,
	root_id bytea, root_step bigint, found_seq bigint, base bytea, first_packed bigint, last_packed bigint,
	first_seq bigint)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
	SELECT t.thread_no, t.version, t.versions, t.status, t.fence, t.holder, t.lease_until, t.updated, t.packed_id, t.created,
		t.graph, t.title, t.labels, t.wake, t.attempts, t.posted, t.inputs, t.others, t.cancels, t.priority
	INTO thread_no, version, versions, status, fence, holder, lease_until, updated, packed_id, created,
		thread_graph, title, labels, wake, attempts, posted, inputs, others, cancels, priority
	FROM graph_thread t WHERE t.thread_key = p_thread;
	IF NOT FOUND THEN
		RETURN;
	END IF;
	now := extract(epoch FROM clock_timestamp()) * 1000000;
	first_seq := 0;
	SELECT v.number, v.root, v.status, v.updated, v.released INTO number, root, version_status, version_updated, released
	FROM graph_version v WHERE v.thread_no = graph_place.thread_no AND v.number = COALESCE(NULLIF(p_number, 0), graph_place.version);
	IF FOUND THEN
		SELECT c.seq, c.id, c.step INTO root_seq, root_id, root_step
		FROM graph_checkpoint c WHERE c.log_no = graph_place.root ORDER BY c.seq DESC LIMIT 1;
		SELECT l.log_no INTO log_no
		FROM graph_log l WHERE l.thread_no = graph_place.thread_no AND l.version = graph_place.number AND l.ns_key = p_namespace;
	END IF;
	IF log_no IS NOT NULL THEN
		SELECT c.seq, c.id, c.step, c.line_no INTO seq, id, step, line_no
		FROM graph_checkpoint c WHERE c.log_no = graph_place.log_no ORDER BY c.seq DESC LIMIT 1;
		SELECT n.line, n.fingerprint, n.graph INTO line, fingerprint, graph
		FROM graph_line n WHERE n.root = graph_place.root AND n.line_no = graph_place.line_no;
		SELECT c.seq, c.base INTO found_seq, base
		FROM graph_checkpoint c WHERE c.root = graph_place.root AND c.id = COALESCE(p_at, graph_place.id) AND c.log_no = graph_place.log_no;
		IF found_seq IS NULL THEN
			SELECT MIN(p.first_seq), MAX(p.last_seq) INTO first_packed, last_packed
			FROM graph_pack p WHERE p.root = graph_place.root AND p.last_id >= p_at AND p.first_id <= p_at AND p.log_no = graph_place.log_no;
		END IF;
		first_seq := GREATEST(0,
			(SELECT c.seq FROM graph_checkpoint c
				WHERE c.log_no = graph_place.log_no AND c.seq <= COALESCE(found_seq, graph_place.first_packed) AND c.snapshot
				ORDER BY c.seq DESC LIMIT 1),
			(SELECT p.first_seq FROM graph_pack p
				WHERE p.log_no = graph_place.log_no AND p.whole AND p.first_seq <= COALESCE(found_seq, graph_place.first_packed)
				ORDER BY p.last_seq DESC LIMIT 1));
	END IF;
	RETURN NEXT;
END $$;

-- graph_chain reads what restores a record, in rows of several parts. queries/load.sql describes them.
CREATE FUNCTION graph_chain(
	p_thread bigint, p_number bigint, p_namespace bytea, p_log bigint, p_root bigint, p_first bigint, p_last bigint, p_base bytea,
	p_least_line bigint, p_last_line bigint)
RETURNS TABLE (
	part bigint, n1 bigint, n2 bigint, n3 bigint, n4 bigint, n5 bigint, n6 bigint, n7 bigint, n8 bigint,
	id bytea, parent bytea, base bytea, commits bytea, body bytea, payload bytea)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
	RETURN QUERY SELECT 1::bigint, t.version, t.versions, t.status, t.lease_until, t.updated,
		COALESCE((SELECT l.log_no FROM graph_log l WHERE l.thread_no = p_thread AND l.version = p_number AND l.ns_key = p_namespace), 0),
		COALESCE((SELECT MAX(h.seq) FROM graph_checkpoint h WHERE h.log_no = p_log), 0),
		COALESCE((SELECT MAX(h.seq) FROM graph_checkpoint h WHERE h.log_no = p_root), 0),
		t.fence, NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea
	FROM graph_thread t WHERE t.thread_no = p_thread;
	RETURN QUERY SELECT 2::bigint, c.seq, c.line_no, c.source::bigint, c.snapshot::integer::bigint, c.commits_previous::integer::bigint,
		c.marked_committed::integer::bigint, c.step, c.created, c.id, c.parent, c.base, c.commits, c.body, c.payload
	FROM graph_checkpoint c WHERE c.log_no = p_log AND c.seq BETWEEN p_first - 1 AND p_last;
	RETURN QUERY SELECT 3::bigint, p.first_seq, p.last_seq, p.whole::integer::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint,
		NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea, p.body, NULL::bytea
	FROM graph_pack p WHERE p.log_no = p_log AND p.last_seq >= p_first AND p.first_seq <= p_last;
	RETURN QUERY SELECT 4::bigint, n.line_no, n.fingerprint, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint,
		n.line, NULL::bytea, NULL::bytea, NULL::bytea, n.graph, NULL::bytea
	FROM graph_line n WHERE n.root = p_root AND n.line_no BETWEEN
		COALESCE((SELECT c.line_no FROM graph_checkpoint c WHERE c.log_no = p_log AND c.seq = p_first), p_least_line) AND p_last_line;
	RETURN QUERY SELECT 5::bigint, w.write_no, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint,
		NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea, w.data, NULL::bytea
	FROM graph_write w WHERE w.root = p_root AND w.base > E'\\x00000000000000000000000000000000' AND NOT COALESCE((
		SELECT b.marked_committed OR COALESCE(
			(SELECT n.commits_previous FROM graph_checkpoint n WHERE n.log_no = b.log_no AND n.seq = b.seq + 1), FALSE)
		FROM graph_checkpoint b WHERE b.root = w.root AND b.id = w.base), FALSE);
	RETURN QUERY SELECT 6::bigint, b.log_no, b.seq, (b.marked_committed OR COALESCE(
			(SELECT n.commits_previous FROM graph_checkpoint n WHERE n.log_no = b.log_no AND n.seq = b.seq + 1), FALSE))::integer::bigint,
		0::bigint, 0::bigint, 0::bigint, 0::bigint, 0::bigint,
		NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea
	FROM graph_checkpoint b WHERE b.root = p_root AND b.id = p_base;
	RETURN QUERY SELECT 7::bigint, t.posted, t.inputs, t.others, t.cancels, t.attempts, t.wake, 0::bigint, 0::bigint,
		NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea, NULL::bytea
	FROM graph_thread t WHERE t.thread_no = p_thread;
END $$;
