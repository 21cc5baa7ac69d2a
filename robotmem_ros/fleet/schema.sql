-- The database of a fleet, version 1. Later versions are steps in administration.py.
--
-- Each row has one writer, the robot that made it, so there is nothing to merge. Each key begins with the robot, so that
-- a database of several servers can be distributed by it. Of two versions of a row, the one of the greater epoch is
-- newer, then the one of the greater revision: see memory/storage/revisions.py. So a batch may come twice, late, or
-- from a file that was restored.

CREATE EXTENSION IF NOT EXISTS vector;
CREATE SCHEMA robotmem;
SET LOCAL search_path = robotmem, public;

-- Roles belong to the whole server, and may be there for another fleet.
DO $$
BEGIN
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'robotmem_robots') THEN
        CREATE ROLE robotmem_robots NOLOGIN;
    END IF;
    IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = 'robotmem_operators') THEN
        CREATE ROLE robotmem_operators NOLOGIN;
    END IF;
END $$;


-- Robots --------------------------------------------------------------------------------------------------------------

CREATE TABLE robots (
    id integer PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    name text NOT NULL UNIQUE,
    role name NOT NULL UNIQUE,  -- as which it logs in
    file text UNIQUE CHECK (file ~ '^[0-9a-f]{32}$'),  -- the lineage of its file; NULL until it has sent something
    -- The cursor: all of the file up to here is stored
    epoch text COLLATE "C" NOT NULL DEFAULT '' CHECK (epoch ~ '^([0-9a-f]{16})?$'),
    revision bigint NOT NULL DEFAULT 0 CHECK (revision >= 0),
    stored bigint NOT NULL DEFAULT 0,  -- the stamp of what was stored last: see `stamp`
    policy text,  -- what it sends: its parameter `fleet_collections`; NULL until it has sent something
    -- The last revision of the file when that was read: what was changed later than the cursor was not seen before
    latest_epoch text COLLATE "C" NOT NULL DEFAULT '' CHECK (latest_epoch ~ '^([0-9a-f]{16})?$'),
    latest bigint NOT NULL DEFAULT 0,
    lived_days integer NOT NULL DEFAULT 0,  -- how many days it has lived: see memory/conditions/decay.py
    days integer[] NOT NULL DEFAULT '{}',  -- those days since the epoch, in their order
    contact timestamptz  -- NULL for never
);

-- The robot as which the caller is logged in; NULL for anyone else.
CREATE FUNCTION me() RETURNS integer LANGUAGE sql STABLE AS $$ SELECT id FROM robotmem.robots WHERE role = current_user $$;


-- A stamp for what a transaction stores of a robot: microseconds, later than all before. Whoever takes one has the row of
-- the robot locked, so what has a later stamp is committed later. After a backup was restored it is later than what was
-- lost, too.
CREATE FUNCTION stamp(robot integer) RETURNS bigint LANGUAGE sql AS $$
    UPDATE robotmem.robots
    SET stored = greatest(stored + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint)
    WHERE id = robot RETURNING stored
$$;


-- Memories ------------------------------------------------------------------------------------------------------------

-- The models of which there are vectors, each with an index of its own once a robot has sent all of its vectors.
CREATE TABLE models (
    name text PRIMARY KEY CHECK (name <> ''),
    dimensions integer NOT NULL CHECK (dimensions BETWEEN 1 AND 4000),  -- more cannot be indexed
    is_indexed boolean NOT NULL DEFAULT false,
    UNIQUE (name, dimensions)
);
-- The value at a path of a context, through objects alone; NULL for none.
CREATE FUNCTION value_at(context jsonb, path jsonpath) RETURNS jsonb LANGUAGE sql IMMUTABLE AS $$
    SELECT jsonb_path_query_first(context, path, '{}', true)
$$;
-- A value of a context as a position of two or three numbers in metres; NULL if it is none.
CREATE FUNCTION position_of(value jsonb) RETURNS double precision[] LANGUAGE plpgsql IMMUTABLE AS $$
BEGIN
    IF jsonb_typeof(value) IS DISTINCT FROM 'array' OR jsonb_array_length(value) NOT IN (2, 3) THEN
        RETURN NULL;
    ELSIF EXISTS (SELECT FROM jsonb_array_elements(value) AS n WHERE jsonb_typeof(n) <> 'number') THEN
        RETURN NULL;
    ELSIF EXISTS (SELECT FROM jsonb_array_elements(value) AS n WHERE abs(n::numeric) > 1e8) THEN
        RETURN NULL;
    END IF;
    RETURN ARRAY(SELECT n::double precision FROM jsonb_array_elements(value) AS n);
END $$;
-- A square without the error of very small numbers.
CREATE FUNCTION square(x double precision) RETURNS double precision LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN abs(x) < 1e-150 THEN 0 ELSE x * x END
$$;
-- The squared distance of two positions, in the plane if one of them has no z.
CREATE FUNCTION square_between(a double precision[], b double precision[]) RETURNS double precision
LANGUAGE sql IMMUTABLE AS $$
    SELECT robotmem.square(a[1] - b[1]) + robotmem.square(a[2] - b[2]) + coalesce(robotmem.square(a[3] - b[3]), 0)
$$;
-- The share of a confidence that is left after some days, without the errors of very small numbers.
CREATE FUNCTION share_left(rate double precision, days integer) RETURNS double precision LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN days <= 0 OR rate <= 0 THEN 1 WHEN rate >= 1 THEN 0
        WHEN days * ln(1 - rate) < -600 THEN 0 ELSE power(1 - rate, days) END
$$;

-- A coordinate; NULL for none.
CREATE FUNCTION metres(number text) RETURNS double precision LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN number::double precision BETWEEN -1e8 AND 1e8 THEN number::double precision END
$$;
CREATE FUNCTION pose_at(x double precision, y double precision, z double precision) RETURNS double precision[]
LANGUAGE sql IMMUTABLE AS $$ SELECT CASE WHEN x + y + z IS NOT NULL THEN ARRAY[x, y, z] END $$;
-- A number from 0 to 1; NULL for none.
CREATE FUNCTION share(number text) RETURNS double precision LANGUAGE sql IMMUTABLE AS $$
    SELECT CASE WHEN number IS NOT NULL THEN least(greatest(number::double precision, 0), 1) END
$$;

-- From when until when an object was at a place: see `stays` in memory/storage/schema.sql.
CREATE TYPE stay AS (
    first_seen bigint, last_seen bigint, first_absent bigint, label text, label_key text, area text,
    confidence double precision, x double precision, y double precision, z double precision
);
-- The stays of a list in JSON, the earliest first.
CREATE FUNCTION stays_of(list jsonb) RETURNS stay[] LANGUAGE sql IMMUTABLE AS $$
    SELECT coalesce(array_agg(s ORDER BY s.first_seen), '{}')
    FROM jsonb_populate_recordset(NULL::robotmem.stay, list) AS s
$$;

CREATE TABLE memories (
    robot integer NOT NULL REFERENCES robots (id),
    uuid uuid NOT NULL,
    epoch text COLLATE "C" NOT NULL,
    revision bigint NOT NULL,
    stored bigint NOT NULL DEFAULT 0,  -- a stamp
    body jsonb NOT NULL,  -- as in a batch, but without raw data: all fields, tags, history, sightings
    data bytea,  -- raw data, such as an image; NULL if there are none, or they are larger than its robot sends
    -- Follow from the body
    type text NOT NULL GENERATED ALWAYS AS (body ->> 'type') STORED,
    collection text NOT NULL GENERATED ALWAYS AS (body ->> 'collection') STORED,
    content text NOT NULL GENERATED ALWAYS AS (body ->> 'content') STORED,
    status text NOT NULL GENERATED ALWAYS AS (body ->> 'status') STORED,
    observed_at bigint NOT NULL GENERATED ALWAYS AS ((body ->> 'observed_at')::bigint) STORED,  -- nanoseconds
    memory_id bigint NOT NULL GENERATED ALWAYS AS (('x' || right(uuid::text, 10))::bit(40)::bigint) STORED,  -- in its file
    session_id text GENERATED ALWAYS AS (body ->> 'session_id') STORED,
    category text GENERATED ALWAYS AS (body ->> 'category') STORED,
    -- Within their bounds, whoever wrote the row: what overflows would stop each question
    confidence double precision GENERATED ALWAYS AS (robotmem.share(body ->> 'confidence')) STORED,
    decay_rate double precision GENERATED ALWAYS AS (robotmem.share(body ->> 'decay_rate')) STORED,
    confirmed boolean GENERATED ALWAYS AS (body #>> '{object,0,confirmed}' = '1') STORED,  -- NULL for what is no object
    appeared bigint GENERATED ALWAYS AS ((body #>> '{object,0,appeared}')::bigint) STORED,
    sure double precision GENERATED ALWAYS AS (robotmem.share(body #>> '{object,0,sure}')) STORED,
    is_repeated boolean GENERATED ALWAYS AS (body #> '{contributions,0}' IS NOT NULL) STORED,  -- a fact learned again
    is_changed boolean GENERATED ALWAYS AS (body #> '{history,0}' IS NOT NULL) STORED,
    stays stay[] NOT NULL DEFAULT '{}',  -- those that have ended, the earliest first
    -- What weighs in a recall: see memory/storage/rows.py
    is_real boolean GENERATED ALWAYS AS (body #>> '{context,env,sim_or_real}' = 'real') STORED,
    outcome double precision GENERATED ALWAYS AS (
        ((body #> '{outcomes,0,total}')::double precision + 1) / ((body #> '{outcomes,0,weight}')::double precision + 2)
    ) STORED,  -- NULL until a session in which it was recalled is rated
    frame_id text GENERATED ALWAYS AS (body ->> 'frame_id') STORED,
    map_id text GENERATED ALWAYS AS (body ->> 'map_id') STORED,
    position double precision[] GENERATED ALWAYS AS (
        robotmem.pose_at(robotmem.metres(body ->> 'x'), robotmem.metres(body ->> 'y'), robotmem.metres(body ->> 'z'))
    ) STORED,  -- NULL without a pose
    label_key text NOT NULL DEFAULT '',  -- by which labels are compared: see memory/text/normal_form.py
    twin uuid NOT NULL DEFAULT gen_random_uuid(),  -- the same for all memories of one text: see folding.py
    evidence_day integer NOT NULL DEFAULT 0,  -- the lived day of its robot that evidence for it is from
    -- The words as the robot's own index has them, stems and Chinese pairs included: `simple` takes them as they are
    words tsvector NOT NULL,
    model text NOT NULL DEFAULT '',  -- of the vector; '' until there is one
    embedding halfvec,  -- NULL also for a text that the model does not read
    parts halfvec[],  -- the vectors of the parts of a long text behind the first one; NULL of others
    dimensions integer GENERATED ALWAYS AS (vector_dims(embedding)) STORED,
    PRIMARY KEY (robot, uuid),
    FOREIGN KEY (model, dimensions) REFERENCES models (name, dimensions)
);
CREATE INDEX memories_stored ON memories (robot, stored, uuid);
CREATE INDEX memories_uuid ON memories (uuid);
CREATE INDEX memories_twin ON memories (robot, twin);
CREATE INDEX memories_words ON memories USING gin (words);
CREATE INDEX memories_observed ON memories (observed_at);
CREATE INDEX memories_place ON memories USING gist (point(position[1], position[2]));
CREATE INDEX memories_context ON memories USING gin ((body -> 'context') jsonb_path_ops);
CREATE INDEX memories_tags ON memories USING gin ((body -> 'tags'));
CREATE INDEX memories_session ON memories (session_id) WHERE session_id <> '';
CREATE INDEX memories_label ON memories (label_key) WHERE label_key <> '';
CREATE INDEX memories_seen ON memories (((body #>> '{object,0,last_seen}')::bigint)) WHERE confirmed IS NOT NULL;
-- To find the memories without a vector of the model.
CREATE INDEX memories_model ON memories (robot, model, uuid) WHERE status = 'active';
CREATE INDEX memories_parts ON memories (model) WHERE parts IS NOT NULL;

-- In how many memories of a robot and a collection a word stands, inactive ones included; the word '' in all of them.
CREATE TABLE words (
    robot integer NOT NULL REFERENCES robots (id),
    collection text NOT NULL,
    word text NOT NULL,
    memories bigint NOT NULL,
    PRIMARY KEY (robot, collection, word)
);
CREATE INDEX words_word ON words (word);
CREATE FUNCTION count_words() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, robotmem, pg_temp AS $$
DECLARE
    source text := CASE TG_OP
        WHEN 'INSERT' THEN 'SELECT *, 1 AS n FROM after'
        WHEN 'DELETE' THEN 'SELECT *, -1 AS n FROM before'
        ELSE 'SELECT *, 1 AS n FROM after UNION ALL SELECT *, -1 FROM before'
    END;
BEGIN
    EXECUTE format(
        'MERGE INTO robotmem.words AS w USING (
            SELECT robot, collection, word, sum(n) AS n
            FROM (%s) AS m, unnest(tsvector_to_array(m.words) || array['''']) AS word
            GROUP BY robot, collection, word HAVING sum(n) <> 0
        ) AS c ON w.robot = c.robot AND w.collection = c.collection AND w.word = c.word
        WHEN MATCHED AND w.memories + c.n <= 0 THEN DELETE
        WHEN MATCHED THEN UPDATE SET memories = w.memories + c.n
        WHEN NOT MATCHED THEN INSERT VALUES (c.robot, c.collection, c.word, c.n)', source
    );
    RETURN NULL;
END $$;
CREATE TRIGGER count_new AFTER INSERT ON memories REFERENCING NEW TABLE AS after
FOR EACH STATEMENT EXECUTE FUNCTION count_words();
CREATE TRIGGER count_changed AFTER UPDATE ON memories REFERENCING OLD TABLE AS before NEW TABLE AS after
FOR EACH STATEMENT EXECUTE FUNCTION count_words();
CREATE TRIGGER count_deleted AFTER DELETE ON memories REFERENCING OLD TABLE AS before
FOR EACH STATEMENT EXECUTE FUNCTION count_words();

-- Sessions, maps, tags and areas.
CREATE TABLE units (
    robot integer NOT NULL REFERENCES robots (id),
    uuid uuid NOT NULL,
    epoch text COLLATE "C" NOT NULL,
    revision bigint NOT NULL,
    unit text NOT NULL,
    body jsonb NOT NULL,
    PRIMARY KEY (robot, uuid)
);
CREATE INDEX units_uuid ON units (uuid);

-- What was deleted, for good: nothing of what it said.
CREATE TABLE deleted (
    robot integer NOT NULL REFERENCES robots (id),
    uuid uuid NOT NULL,
    stored bigint NOT NULL DEFAULT 0,  -- a stamp
    PRIMARY KEY (robot, uuid)
);
CREATE INDEX deleted_stored ON deleted (robot, stored);


-- Vectors -------------------------------------------------------------------------------------------------------------

-- Add a model, unless it is there: whoever brings its first vector calls this.
CREATE FUNCTION add_model(model text, size integer) RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, robotmem, public, pg_temp AS $$
BEGIN
    PERFORM pg_advisory_xact_lock(hashtext('robotmem.models'));
    IF EXISTS (SELECT FROM robotmem.models WHERE name = model AND dimensions = size) THEN
        RETURN;
    END IF;
    IF EXISTS (SELECT FROM robotmem.models WHERE name = model) THEN
        RAISE EXCEPTION 'the vectors of the model % have another length in the fleet', model;
    END IF;
    IF (SELECT count(*) FROM robotmem.models) >= 16 THEN
        RAISE EXCEPTION 'the fleet has vectors of 16 models already, too many for another one';
    END IF;
    INSERT INTO robotmem.models VALUES (model, size);
END $$;
-- Make the indexes that are lacking: whoever has sent all vectors calls this. To build an index of vectors that are there
-- takes a seventh of the time of adding each of them to it.
CREATE FUNCTION index_models() RETURNS void LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, robotmem, public, pg_temp AS $$
DECLARE
    lacking robotmem.models;
BEGIN
    FOR lacking IN SELECT * FROM robotmem.models WHERE NOT is_indexed FOR NO KEY UPDATE LOOP
        IF pg_size_bytes(current_setting('maintenance_work_mem')) < 536870912 THEN
            SET LOCAL maintenance_work_mem = '512MB';  -- what does not fit is built as slowly as it is added
        END IF;
        EXECUTE format(
            'CREATE INDEX ON robotmem.memories USING hnsw ((embedding::halfvec(%s)) halfvec_cosine_ops) '
            'WHERE model = %L', lacking.dimensions, lacking.name
        );
        UPDATE robotmem.models SET is_indexed = true WHERE name = lacking.name;
    END LOOP;
END $$;


-- Requests ------------------------------------------------------------------------------------------------------------

-- Only the robot that made a memory changes it. Whoever else wants that asks it, and it answers.
CREATE TABLE requests (
    id bigint PRIMARY KEY GENERATED ALWAYS AS IDENTITY,
    robot integer NOT NULL REFERENCES robots (id),  -- that made the memory
    memory uuid NOT NULL,
    content text CHECK (content <> ''),  -- what the memory should say; NULL if it is to be withdrawn
    reason text NOT NULL CHECK (reason <> ''),
    asked_by name NOT NULL DEFAULT session_user,
    asked_at timestamptz NOT NULL DEFAULT now(),
    state text NOT NULL DEFAULT 'open' CHECK (state IN ('open', 'done', 'refused')),
    answer text NOT NULL DEFAULT '',
    answered_at timestamptz
);
CREATE INDEX requests_open ON requests (robot, id) WHERE state = 'open';


-- Rights --------------------------------------------------------------------------------------------------------------

-- What tells nothing of a row but whether it matches may be asked of an index before the policies below. Superusers alone
-- can say so; without it, the searches of a robot read all of its rows. Those of operators do not need it.
DO $$
BEGIN
    ALTER FUNCTION pg_catalog.ts_match_vq(tsvector, tsquery) LEAKPROOF;
    ALTER FUNCTION pg_catalog.jsonb_contains(jsonb, jsonb) LEAKPROOF;
    ALTER FUNCTION pg_catalog.jsonb_exists_any(jsonb, text[]) LEAKPROOF;
    ALTER FUNCTION pg_catalog.jsonb_object_field(jsonb, text) LEAKPROOF;
    ALTER FUNCTION pg_catalog.on_pb(point, box) LEAKPROOF;
    ALTER FUNCTION pg_catalog.point(double precision, double precision) LEAKPROOF;
EXCEPTION WHEN insufficient_privilege THEN
    RAISE NOTICE 'not a superuser: the searches of robots will read all of their rows';
END $$;

-- What robots may read of others: facts and perceptions of a collection, `*` for all but those of people.
CREATE TABLE grants (
    robot integer NOT NULL REFERENCES robots (id),
    collection text NOT NULL,
    PRIMARY KEY (robot, collection)
);

-- Not by the policies of `robots`, which ask this.
CREATE FUNCTION has_grants() RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (
        SELECT FROM robotmem.grants AS g JOIN robotmem.robots AS r ON r.id = g.robot WHERE r.role = session_user
    )
$$;

-- Whether another robot than the first argument has a memory or unit of this UUID: it may not be taken or called deleted.
CREATE FUNCTION is_of_another(robot integer, uuid uuid) RETURNS boolean LANGUAGE sql STABLE SECURITY DEFINER
SET search_path = pg_catalog, pg_temp AS $$
    SELECT EXISTS (SELECT FROM robotmem.memories AS m WHERE m.uuid = $2 AND m.robot <> $1)
    OR EXISTS (SELECT FROM robotmem.units AS u WHERE u.uuid = $2 AND u.robot <> $1)
$$;

-- Before PostgreSQL 15 everybody may create functions there, which a SECURITY DEFINER function could then call.
REVOKE CREATE ON SCHEMA public FROM PUBLIC;

-- A robot reads and writes its own rows, and reads what it was granted. Operators read everything. Who made the database may do everything.
REVOKE ALL ON FUNCTION add_model, index_models, count_words, is_of_another FROM PUBLIC;
GRANT USAGE ON SCHEMA robotmem TO robotmem_robots, robotmem_operators;
GRANT SELECT ON ALL TABLES IN SCHEMA robotmem TO robotmem_robots, robotmem_operators;
GRANT UPDATE (file, epoch, revision, stored, policy, latest_epoch, latest, lived_days, days, contact) ON robots TO robotmem_robots;
GRANT INSERT, UPDATE, DELETE ON memories, units TO robotmem_robots;
GRANT INSERT ON deleted TO robotmem_robots;
GRANT EXECUTE ON FUNCTION add_model, index_models, is_of_another TO robotmem_robots;

-- An operator asks, and the robot that is asked answers. A robot asks for nothing: it changes what it made, and no more.
GRANT INSERT (robot, memory, content, reason) ON requests TO robotmem_operators;
GRANT UPDATE (state, answer, answered_at) ON requests TO robotmem_robots;
ALTER TABLE requests ENABLE ROW LEVEL SECURITY;
CREATE POLICY asked ON requests FOR SELECT TO robotmem_robots USING (robot = (SELECT robotmem.me()));
CREATE POLICY answers ON requests FOR UPDATE TO robotmem_robots USING (robot = (SELECT robotmem.me()));
CREATE POLICY asks ON requests FOR INSERT TO robotmem_operators WITH CHECK (EXISTS (
    SELECT FROM robotmem.memories AS m WHERE m.robot = requests.robot AND m.uuid = memory
));
CREATE POLICY operators ON requests FOR SELECT TO robotmem_operators USING (true);

ALTER TABLE robots ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON robots TO robotmem_robots USING (role = current_user);
ALTER TABLE grants ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON grants FOR SELECT TO robotmem_robots USING (robot = (SELECT robotmem.me()));
ALTER TABLE memories ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON memories TO robotmem_robots USING (robot = (SELECT robotmem.me()))
WITH CHECK (robot = (SELECT robotmem.me()) AND NOT robotmem.is_of_another(robot, uuid));
ALTER TABLE words ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON words TO robotmem_robots USING (robot = (SELECT robotmem.me()));
ALTER TABLE units ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON units TO robotmem_robots USING (robot = (SELECT robotmem.me()))
WITH CHECK (robot = (SELECT robotmem.me()) AND NOT robotmem.is_of_another(robot, uuid));
ALTER TABLE deleted ENABLE ROW LEVEL SECURITY;
CREATE POLICY own ON deleted TO robotmem_robots USING (robot = (SELECT robotmem.me()))
WITH CHECK (robot = (SELECT robotmem.me()) AND NOT robotmem.is_of_another(robot, uuid));

-- Whoever may read anything of others sees which robots there are, and the UUIDs of what was deleted.
CREATE POLICY granted ON robots FOR SELECT TO robotmem_robots USING ((SELECT robotmem.has_grants()));
CREATE POLICY granted ON deleted FOR SELECT TO robotmem_robots USING ((SELECT robotmem.has_grants()));
CREATE POLICY granted ON memories FOR SELECT TO robotmem_robots USING (
    collection IN (SELECT g.collection FROM robotmem.grants AS g)
    OR '*' IN (SELECT g.collection FROM robotmem.grants AS g) AND NOT starts_with(collection, 'people')
);
CREATE POLICY granted ON words FOR SELECT TO robotmem_robots USING (
    collection IN (SELECT g.collection FROM robotmem.grants AS g)
    OR '*' IN (SELECT g.collection FROM robotmem.grants AS g) AND NOT starts_with(collection, 'people')
);

CREATE POLICY operators ON grants FOR SELECT TO robotmem_operators USING (true);
CREATE POLICY operators ON robots FOR SELECT TO robotmem_operators USING (true);
CREATE POLICY operators ON memories FOR SELECT TO robotmem_operators USING (true);
CREATE POLICY operators ON words FOR SELECT TO robotmem_operators USING (true);
CREATE POLICY operators ON units FOR SELECT TO robotmem_operators USING (true);
CREATE POLICY operators ON deleted FOR SELECT TO robotmem_operators USING (true);


-- The steps that made the database.
CREATE TABLE migrations (n integer PRIMARY KEY, applied_at timestamptz NOT NULL DEFAULT now());
GRANT SELECT ON migrations TO robotmem_robots, robotmem_operators;
