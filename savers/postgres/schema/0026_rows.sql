-- The tables of a saver, for PostgreSQL 13 and later. They keep rows, as the contract of package savers/rows says. pk is
-- the key of a row, and data its value, which ends with a checksum. Times are microseconds since 1970, in UTC. A saver reads
-- only pk, rev and data; the other columns are for people. Ids and names are opaque bytes.

CREATE TABLE graph_schema (
	version BIGINT NOT NULL PRIMARY KEY
);

-- The threads. pk is the id. Rows have room to be changed in place.
CREATE TABLE graph_thread (
	pk      BYTEA  NOT NULL PRIMARY KEY,
	rev     BIGINT NOT NULL, -- the revision: each change of the row gives it another one
	data    BYTEA  NOT NULL,
	graph   BYTEA  NOT NULL, -- the name of the graph that opened the newest run
	title   BYTEA  NOT NULL,
	version BIGINT NOT NULL, -- the open version; 0 when there is none
	status  BIGINT NOT NULL, -- 1 running, 2 waiting, 3 paused, 4 failed, 5 done, 6 ready, 7 cancelled; 0: no list has the thread
	created BIGINT NOT NULL, -- when the first version began
	updated BIGINT NOT NULL, -- when the newest run opened or ended
	wake    BIGINT NOT NULL  -- when the thread is due; 0: never
) WITH (fillfactor = 60);

-- The records of checkpoints, in the order of their logs. The key has the root of the version, a hash of the namespace, and
-- the id of the record before.
CREATE TABLE graph_record (
	pk   BYTEA NOT NULL PRIMARY KEY,
	data BYTEA NOT NULL
);

-- The names of namespaces.
CREATE TABLE graph_log (
	pk   BYTEA NOT NULL PRIMARY KEY,
	data BYTEA NOT NULL
);

-- The pending writes. The key has the root of the version and the id of the base.
CREATE TABLE graph_write (
	pk   BYTEA NOT NULL PRIMARY KEY,
	data BYTEA NOT NULL
);

-- The messages.
CREATE TABLE graph_message (
	pk   BYTEA NOT NULL PRIMARY KEY,
	data BYTEA NOT NULL
);

-- The released versions.
CREATE TABLE graph_version (
	pk   BYTEA NOT NULL PRIMARY KEY,
	data BYTEA NOT NULL
);

-- The order of threads, by what lists and workers select.
CREATE TABLE graph_index (
	pk BYTEA NOT NULL PRIMARY KEY
);

-- The items of the store, with their values if these are small.
CREATE TABLE graph_item (
	pk   BYTEA NOT NULL PRIMARY KEY,
	rev  BIGINT NOT NULL,
	data BYTEA NOT NULL
);

-- What the items of the store have: values, index entries, words and vectors.
CREATE TABLE graph_entry (
	pk   BYTEA NOT NULL PRIMARY KEY,
	data BYTEA NOT NULL
);

-- The vectors of rows of graph_entry again, because pgvector cannot read data. Its indexes are on this table.
CREATE TABLE graph_vector (
	pk   BYTEA  NOT NULL PRIMARY KEY, -- of graph_entry
	name BYTEA  NOT NULL,             -- of the vector index
	vec  REAL[] NOT NULL
);

-- Numbers of vectors do not compress.
ALTER TABLE graph_vector ALTER COLUMN vec SET STORAGE EXTERNAL;

-- The states, of a saver with ReadableState.
CREATE TABLE graph_state (
	pk         BYTEA  NOT NULL PRIMARY KEY,
	thread     BYTEA  NOT NULL, -- the pk of graph_thread
	version    BIGINT NOT NULL,
	seq        BIGINT NOT NULL, -- of the checkpoint of the root that left the state
	state_json JSONB  NOT NULL
);

CREATE INDEX graph_state_thread ON graph_state (thread, version);

-- A saver reads and changes rows by the functions below. The server keeps their plans for every caller. A plan is the same
-- for all parameters, finds rows by keys, and is as good for large tables as for empty ones. All but graph_commit return rows
-- of the same form. o_range is the number of what the row belongs to, from 1; the row of 0 is about the whole call.

-- graph_read reads ranges in one view: of each, up to p_limit rows with p_from <= pk < p_to; 0 is all. p_kind is twice
-- the number of the table, and 1 more for descending order; 20 reads the items whose keys are the ends of keys of
-- graph_entry, after p_items bytes. The row of 0 has the server's time in o_rev.
CREATE FUNCTION graph_read(p_kind int[], p_from bytea[], p_to bytea[], p_limit int[], p_items int[])
RETURNS TABLE (o_range int, o_pk bytea, o_rev bigint, o_data bytea)
LANGUAGE plpgsql STABLE SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
	o_range := 0;
	o_rev := extract(epoch from clock_timestamp()) * 1000000;
	RETURN NEXT;
	FOR i IN 1 .. cardinality(p_kind) LOOP
		CASE p_kind[i]
		WHEN 0 THEN
			RETURN QUERY SELECT i, h.pk, h.rev, h.data FROM graph_thread h
			WHERE h.pk >= p_from[i] AND h.pk < p_to[i] ORDER BY h.pk LIMIT NULLIF(p_limit[i], 0);
		WHEN 1 THEN
			RETURN QUERY SELECT i, h.pk, h.rev, h.data FROM graph_thread h
			WHERE h.pk >= p_from[i] AND h.pk < p_to[i] ORDER BY h.pk DESC LIMIT NULLIF(p_limit[i], 0);
		WHEN 2 THEN
			RETURN QUERY SELECT i, h.pk, 0::bigint, h.data FROM graph_record h
			WHERE h.pk >= p_from[i] AND h.pk < p_to[i] ORDER BY h.pk LIMIT NULLIF(p_limit[i], 0);
		WHEN 3 THEN
			RETURN QUERY SELECT i, h.pk, 0::bigint, h.data FROM graph_record h
			WHERE h.pk >= p_from[i] AND h.pk < p_to[i] ORDER BY h.pk DESC LIMIT NULLIF(p_limit[i], 0);
		WHEN 4 THEN
			RETURN QUERY SELECT i, h.pk, 0::bigint, h.data FROM graph_log h
			WHERE h.pk >= p_from[i] AND h.pk < p_to[i] ORDER BY h.pk LIMIT NULLIF(p_limit[i], 0);
		WHEN 5 THEN
			RETURN QUERY SELECT i, h.pk, 0::bigint, h.data FROM graph_log h
			WHERE h.pk >= p_from[i] AND h.pk < p_to[i] ORDER BY h.pk DESC LIMIT NULLIF(p_limit[i], 0);
		WHEN 6 THEN
			RETURN QUERY SELECT i, h.pk, 0::bigint, h.data FROM graph_write h
			WHERE h.pk >= p_from[i] AND h.pk < p_to[i] ORDER BY h.pk LIMIT NULLIF(p_limit[i], 0);
		WHEN 7 THEN
			RETURN QUERY SELECT i, h.pk, 0::bigint, h.data FROM graph_write h
			WHERE h.pk >= p_from[i] AND h.pk < p_to[i] ORDER BY h.pk DESC LIMIT NULLIF(p_limit[i], 0);
		WHEN 8 THEN
			RETURN QUERY SELECT i, h.pk, 0::bigint, h.data FROM graph_message h
			WHERE h.pk >= p_from[i] AND h.pk < p_to[i] ORDER BY h.pk LIMIT NULLIF(p_limit[i], 0);
		WHEN 9 THEN
			RETURN QUERY SELECT i, h.pk, 0::bigint, h.data FROM graph_message h
			WHERE h.pk >= p_from[i] AND h.pk < p_to[i] ORDER BY h.pk DESC LIMIT NULLIF(p_limit[i], 0);
		WHEN 10 THEN
			RETURN QUERY SELECT i, h.pk, 0::bigint, h.data FROM graph_version h
			WHERE h.pk >= p_from[i] AND h.pk < p_to[i] ORDER BY h.pk LIMIT NULLIF(p_limit[i], 0);
		WHEN 11 THEN
			RETURN QUERY SELECT i, h.pk, 0::bigint, h.data FROM graph_version h
			WHERE h.pk >= p_from[i] AND h.pk < p_to[i] ORDER BY h.pk DESC LIMIT NULLIF(p_limit[i], 0);
		WHEN 12 THEN
			RETURN QUERY SELECT i, h.pk, 0::bigint, NULL::bytea FROM graph_index h
			WHERE h.pk >= p_from[i] AND h.pk < p_to[i] ORDER BY h.pk LIMIT NULLIF(p_limit[i], 0);
		WHEN 13 THEN
			RETURN QUERY SELECT i, h.pk, 0::bigint, NULL::bytea FROM graph_index h
			WHERE h.pk >= p_from[i] AND h.pk < p_to[i] ORDER BY h.pk DESC LIMIT NULLIF(p_limit[i], 0);
		WHEN 16 THEN
			RETURN QUERY SELECT i, h.pk, h.rev, h.data FROM graph_item h
			WHERE h.pk >= p_from[i] AND h.pk < p_to[i] ORDER BY h.pk LIMIT NULLIF(p_limit[i], 0);
		WHEN 17 THEN
			RETURN QUERY SELECT i, h.pk, h.rev, h.data FROM graph_item h
			WHERE h.pk >= p_from[i] AND h.pk < p_to[i] ORDER BY h.pk DESC LIMIT NULLIF(p_limit[i], 0);
		WHEN 18 THEN
			RETURN QUERY SELECT i, h.pk, 0::bigint, h.data FROM graph_entry h
			WHERE h.pk >= p_from[i] AND h.pk < p_to[i] ORDER BY h.pk LIMIT NULLIF(p_limit[i], 0);
		WHEN 19 THEN
			RETURN QUERY SELECT i, h.pk, 0::bigint, h.data FROM graph_entry h
			WHERE h.pk >= p_from[i] AND h.pk < p_to[i] ORDER BY h.pk DESC LIMIT NULLIF(p_limit[i], 0);
		WHEN 20 THEN -- the LIMIT of one row keeps the plan from reading all items
			RETURN QUERY SELECT i, h.pk, h.rev, h.data FROM graph_entry e
			CROSS JOIN LATERAL (SELECT * FROM graph_item t WHERE t.pk = substr(e.pk, p_items[i] + 1) LIMIT 1) h
			WHERE e.pk >= p_from[i] AND e.pk < p_to[i] ORDER BY e.pk LIMIT NULLIF(p_limit[i], 0);
		END CASE;
	END LOOP;
END $$;

-- graph_lock is graph_read that first locks the threads of p_from whose p_kind is 0, until the transaction ends.
CREATE FUNCTION graph_lock(p_kind int[], p_from bytea[], p_to bytea[], p_limit int[])
RETURNS TABLE (o_range int, o_pk bytea, o_rev bigint, o_data bytea)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
	FOR i IN 1 .. cardinality(p_kind) LOOP
		IF p_kind[i] = 0 THEN
			PERFORM 1 FROM graph_thread h WHERE h.pk = p_from[i] FOR UPDATE;
		END IF;
	END LOOP;
	RETURN QUERY SELECT r.o_range, r.o_pk, r.o_rev, r.o_data FROM graph_read(p_kind, p_from, p_to, p_limit, '{}') r;
END $$;

-- graph_commit stores a row that must be new if a thread has a revision, and returns true; else it returns false. p_table is
-- the number of the table. The thread stays locked against changes, but not against other commits, until the transaction ends.
CREATE FUNCTION graph_commit(p_thread bytea, p_rev bigint, p_table int, p_pk bytea, p_data bytea)
RETURNS boolean LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
BEGIN
	PERFORM 1 FROM graph_thread h WHERE h.pk = p_thread AND h.rev = p_rev FOR SHARE;
	IF NOT FOUND THEN
		RETURN false;
	END IF;
	CASE p_table
	WHEN 1 THEN
		INSERT INTO graph_record (pk, data) VALUES (p_pk, p_data);
	WHEN 2 THEN
		INSERT INTO graph_log (pk, data) VALUES (p_pk, p_data);
	WHEN 3 THEN
		INSERT INTO graph_write (pk, data) VALUES (p_pk, p_data);
	WHEN 4 THEN
		INSERT INTO graph_message (pk, data) VALUES (p_pk, p_data);
	WHEN 5 THEN
		INSERT INTO graph_version (pk, data) VALUES (p_pk, p_data);
	END CASE;
	RETURN true;
END $$;

-- graph_apply stores a change whole, or nothing.
-- - Each thread of t_pk must have the revision t_rev, or no row if that is 0. Its row becomes the one of the other t
--   parameters; it stays as it is if t_data is empty. The caller sorts threads by pk, so that callers do not wait for each other
--   in a circle.
-- - The i parameters are the same about items.
-- - The rows of the ranges of the d parameters are removed.
-- - The rows of the w parameters are stored. w_kind is twice the number of the table, and 1 more for a row that must be new.
-- - The v parameters are the vectors of those rows that have one.
-- - The s parameters are the state of the first thread; s_pk is empty if there is none.
-- - The rows of the ranges of the r parameters are read after the change, and returned as graph_read does.
--
-- The row of 0 has the revision that the threads got in o_rev. If a thread does not have its revision, or a row is not new,
-- graph_apply changes nothing. Then it returns no row: so a transaction of a caller can continue, and servers do not log an
-- error. Only a row that is not new, of a change of one thread, is an error: unique_violation. To catch it would cost the
-- number of a transaction. With p_raises, by which graph_apply calls itself, all of them are errors.
CREATE FUNCTION graph_apply(
	t_pk bytea[], t_rev bigint[], t_data bytea[], t_graph bytea[], t_title bytea[], t_version bigint[], t_status bigint[],
	t_created bigint[], t_updated bigint[], t_wake bigint[], d_table int[], d_from bytea[], d_to bytea[],
	w_kind int[], w_pk bytea[], w_data bytea[], s_pk bytea, s_version bigint, s_seq bigint, s_json text,
	r_kind int[], r_from bytea[], r_to bytea[], r_limit int[], i_pk bytea[], i_rev bigint[], i_data bytea[],
	v_pk bytea[], v_name bytea[], v_vec text[], p_raises boolean)
RETURNS TABLE (o_range int, o_pk bytea, o_rev bigint, o_data bytea)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan AS $$
DECLARE
	next_rev bigint := 0;
BEGIN
	IF cardinality(t_pk) + cardinality(i_pk) > 1 AND NOT p_raises THEN
		BEGIN
			RETURN QUERY SELECT * FROM graph_apply(t_pk, t_rev, t_data, t_graph, t_title, t_version, t_status, t_created, t_updated,
				t_wake, d_table, d_from, d_to, w_kind, w_pk, w_data, s_pk, s_version, s_seq, s_json, r_kind, r_from, r_to, r_limit,
				i_pk, i_rev, i_data, v_pk, v_name, v_vec, true);
		EXCEPTION WHEN unique_violation OR lock_not_available THEN -- nothing is stored
		END;
		RETURN;
	END IF;
	FOR i IN 1 .. cardinality(t_pk) LOOP
		next_rev := GREATEST(next_rev, t_rev[i] + 1);
		IF t_rev[i] = 0 THEN -- greater than the revisions of all rows that were removed
			next_rev := GREATEST(next_rev, (extract(epoch from clock_timestamp()) * 1000000)::bigint * 1000);
		END IF;
	END LOOP;
	FOR i IN 1 .. cardinality(t_pk) LOOP
		IF t_data[i] = '' AND t_rev[i] = 0 THEN
			PERFORM 1 WHERE NOT EXISTS (SELECT 1 FROM graph_thread h WHERE h.pk = t_pk[i]);
		ELSIF t_data[i] = '' THEN
			PERFORM 1 FROM graph_thread h WHERE h.pk = t_pk[i] AND h.rev = t_rev[i] FOR UPDATE;
		ELSIF t_rev[i] = 0 THEN
			INSERT INTO graph_thread (pk, rev, data, graph, title, version, status, created, updated, wake)
			VALUES (t_pk[i], next_rev, t_data[i], t_graph[i], t_title[i], t_version[i], t_status[i], t_created[i], t_updated[i], t_wake[i])
			ON CONFLICT DO NOTHING;
		ELSE
			UPDATE graph_thread h SET rev = next_rev, data = t_data[i], graph = t_graph[i], title = t_title[i],
				version = t_version[i], status = t_status[i], created = t_created[i], updated = t_updated[i], wake = t_wake[i]
			WHERE h.pk = t_pk[i] AND h.rev = t_rev[i];
		END IF;
		IF NOT FOUND AND p_raises THEN
			RAISE unique_violation;
		ELSIF NOT FOUND THEN
			RETURN;
		END IF;
	END LOOP;
	FOR i IN 1 .. cardinality(i_pk) LOOP
		next_rev := GREATEST(next_rev, i_rev[i] + 1);
		IF i_rev[i] = 0 THEN
			next_rev := GREATEST(next_rev, (extract(epoch from clock_timestamp()) * 1000000)::bigint * 1000);
		END IF;
	END LOOP;
	FOR i IN 1 .. cardinality(i_pk) LOOP
		IF i_data[i] = '' THEN
			PERFORM 1 FROM graph_item h WHERE h.pk = i_pk[i] AND h.rev = i_rev[i] FOR UPDATE;
		ELSIF i_rev[i] = 0 THEN
			INSERT INTO graph_item (pk, rev, data) VALUES (i_pk[i], next_rev, i_data[i]) ON CONFLICT DO NOTHING;
		ELSE
			UPDATE graph_item h SET rev = next_rev, data = i_data[i] WHERE h.pk = i_pk[i] AND h.rev = i_rev[i];
		END IF;
		IF NOT FOUND AND p_raises THEN
			RAISE unique_violation;
		ELSIF NOT FOUND THEN
			RETURN;
		END IF;
	END LOOP;
	FOR i IN 1 .. cardinality(d_table) LOOP
		CASE d_table[i]
		WHEN 0 THEN
			DELETE FROM graph_thread h WHERE h.pk >= d_from[i] AND h.pk < d_to[i];
		WHEN 1 THEN
			DELETE FROM graph_record h WHERE h.pk >= d_from[i] AND h.pk < d_to[i];
		WHEN 2 THEN
			DELETE FROM graph_log h WHERE h.pk >= d_from[i] AND h.pk < d_to[i];
		WHEN 3 THEN
			DELETE FROM graph_write h WHERE h.pk >= d_from[i] AND h.pk < d_to[i];
		WHEN 4 THEN
			DELETE FROM graph_message h WHERE h.pk >= d_from[i] AND h.pk < d_to[i];
		WHEN 5 THEN
			DELETE FROM graph_version h WHERE h.pk >= d_from[i] AND h.pk < d_to[i];
		WHEN 6 THEN
			DELETE FROM graph_index h WHERE h.pk >= d_from[i] AND h.pk < d_to[i];
		WHEN 7 THEN
			DELETE FROM graph_state h WHERE h.pk >= d_from[i] AND h.pk < d_to[i];
		WHEN 8 THEN
			DELETE FROM graph_item h WHERE h.pk >= d_from[i] AND h.pk < d_to[i];
		WHEN 9 THEN
			DELETE FROM graph_entry h WHERE h.pk >= d_from[i] AND h.pk < d_to[i];
			IF d_from[i] < 'o' AND d_to[i] > 'n' THEN -- the keys of rows that have vectors begin with n
				DELETE FROM graph_vector h WHERE h.pk >= d_from[i] AND h.pk < d_to[i];
			END IF;
		END CASE;
	END LOOP;
	FOR i IN 1 .. cardinality(w_kind) LOOP
		CASE w_kind[i]
		WHEN 2 THEN
			INSERT INTO graph_record (pk, data) VALUES (w_pk[i], w_data[i]) ON CONFLICT (pk) DO UPDATE SET data = excluded.data;
		WHEN 3 THEN
			INSERT INTO graph_record (pk, data) VALUES (w_pk[i], w_data[i]);
		WHEN 4 THEN
			INSERT INTO graph_log (pk, data) VALUES (w_pk[i], w_data[i]) ON CONFLICT (pk) DO UPDATE SET data = excluded.data;
		WHEN 5 THEN
			INSERT INTO graph_log (pk, data) VALUES (w_pk[i], w_data[i]);
		WHEN 6 THEN
			INSERT INTO graph_write (pk, data) VALUES (w_pk[i], w_data[i]) ON CONFLICT (pk) DO UPDATE SET data = excluded.data;
		WHEN 7 THEN
			INSERT INTO graph_write (pk, data) VALUES (w_pk[i], w_data[i]);
		WHEN 8 THEN
			INSERT INTO graph_message (pk, data) VALUES (w_pk[i], w_data[i]) ON CONFLICT (pk) DO UPDATE SET data = excluded.data;
		WHEN 9 THEN
			INSERT INTO graph_message (pk, data) VALUES (w_pk[i], w_data[i]);
		WHEN 10 THEN
			INSERT INTO graph_version (pk, data) VALUES (w_pk[i], w_data[i]) ON CONFLICT (pk) DO UPDATE SET data = excluded.data;
		WHEN 11 THEN
			INSERT INTO graph_version (pk, data) VALUES (w_pk[i], w_data[i]);
		WHEN 18 THEN
			INSERT INTO graph_entry (pk, data) VALUES (w_pk[i], w_data[i]) ON CONFLICT (pk) DO UPDATE SET data = excluded.data;
		WHEN 19 THEN
			INSERT INTO graph_entry (pk, data) VALUES (w_pk[i], w_data[i]);
		ELSE -- of graph_index; the thread that the row is about is locked
			INSERT INTO graph_index (pk) SELECT w_pk[i] WHERE NOT EXISTS (SELECT 1 FROM graph_index h WHERE h.pk = w_pk[i]);
		END CASE;
	END LOOP;
	FOR i IN 1 .. cardinality(v_pk) LOOP
		INSERT INTO graph_vector (pk, name, vec) VALUES (v_pk[i], v_name[i], v_vec[i]::real[])
		ON CONFLICT (pk) DO UPDATE SET name = excluded.name, vec = excluded.vec;
	END LOOP;
	IF s_pk <> '' THEN
		INSERT INTO graph_state (pk, thread, version, seq, state_json) VALUES (s_pk, t_pk[1], s_version, s_seq, s_json::jsonb)
		ON CONFLICT (pk) DO UPDATE SET seq = excluded.seq, state_json = excluded.state_json;
	END IF;
	o_range := 0;
	o_rev := next_rev;
	RETURN NEXT;
	IF cardinality(r_kind) > 0 THEN
		RETURN QUERY SELECT r.o_range, r.o_pk, r.o_rev, r.o_data FROM graph_read(r_kind, r_from, r_to, r_limit, '{}') r WHERE r.o_range > 0;
	END IF;
END $$;

-- graph_due reads the threads that ranges of graph_index name: of each, up to p_limit. In a key of the index, the id of the
-- thread follows p_id bytes. graph_due leaves out threads that others have locked, and locks those that it returns until
-- the transaction ends, with their rows of the index. The commit of the transaction does not wait for the disk: if a crash
-- of the server loses it, threads are due earlier than it says.
CREATE FUNCTION graph_due(p_id int[], p_from bytea[], p_to bytea[], p_limit int[])
RETURNS TABLE (o_range int, o_pk bytea, o_rev bigint, o_data bytea)
LANGUAGE plpgsql SET enable_seqscan = off SET enable_bitmapscan = off SET plan_cache_mode = force_generic_plan
	SET enable_hashjoin = off SET enable_mergejoin = off AS $$
BEGIN
	PERFORM set_config('synchronous_commit', 'off', true);
	FOR i IN 1 .. cardinality(p_from) LOOP
		RETURN QUERY SELECT i, h.pk, h.rev, h.data
		FROM graph_index x JOIN graph_thread h ON h.pk = substr(x.pk, p_id[i] + 1)
		WHERE x.pk >= p_from[i] AND x.pk < p_to[i] ORDER BY x.pk LIMIT p_limit[i] FOR UPDATE OF x, h SKIP LOCKED;
	END LOOP;
END $$;
