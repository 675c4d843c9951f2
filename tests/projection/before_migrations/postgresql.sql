SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;
SELECT pg_catalog.set_config('search_path', '', false);
SET check_function_bodies = false;
SET client_min_messages = warning;
CREATE SCHEMA projections;
SET default_tablespace = '';
SET default_table_access_method = heap;
CREATE TABLE projections.client_recent_order_row_v1 (
    aggregate_id text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    present boolean NOT NULL,
    group_key text COLLATE pg_catalog."C",
    client text COLLATE pg_catalog."C",
    ticker text COLLATE pg_catalog."C",
    side text COLLATE pg_catalog."C",
    quantity bigint,
    filled_quantity bigint,
    limit_price_cents bigint,
    status text COLLATE pg_catalog."C",
    placed_at timestamp with time zone
);
CREATE TABLE projections.client_recent_order_v1 (
    group_key text NOT NULL COLLATE pg_catalog."C",
    since timestamp with time zone
);
CREATE TABLE projections.event_archive_v1 (
    global_position bigint NOT NULL,
    aggregate_type text NOT NULL COLLATE pg_catalog."C",
    aggregate_id text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    event_id text NOT NULL COLLATE pg_catalog."C",
    event_type text NOT NULL COLLATE pg_catalog."C",
    payload text NOT NULL COLLATE pg_catalog."C",
    metadata text NOT NULL COLLATE pg_catalog."C",
    value bytea NOT NULL,
    hash text NOT NULL COLLATE pg_catalog."C",
    topic text NOT NULL COLLATE pg_catalog."C",
    partition bigint NOT NULL,
    "offset" bigint NOT NULL,
    decided_at timestamp with time zone NOT NULL
);
CREATE TABLE projections.letter_intervention_v1 (
    letter_id text NOT NULL COLLATE pg_catalog."C",
    number bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    who text NOT NULL COLLATE pg_catalog."C",
    why text COLLATE pg_catalog."C",
    at timestamp with time zone NOT NULL,
    sha256 text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE projections.letter_v1 (
    id text NOT NULL COLLATE pg_catalog."C",
    topic text NOT NULL COLLATE pg_catalog."C",
    partition bigint NOT NULL,
    "offset" bigint NOT NULL,
    attempt bigint NOT NULL,
    attempts bigint NOT NULL,
    retry_topic text NOT NULL COLLATE pg_catalog."C",
    due_at timestamp with time zone,
    status text NOT NULL COLLATE pg_catalog."C",
    error text COLLATE pg_catalog."C",
    key bytea,
    bytes bytea,
    headers text NOT NULL COLLATE pg_catalog."C",
    received_at timestamp with time zone NOT NULL,
    who text COLLATE pg_catalog."C",
    why text COLLATE pg_catalog."C"
);
CREATE TABLE projections.outcome_v1 (
    command_id text NOT NULL COLLATE pg_catalog."C",
    aggregate_type text NOT NULL COLLATE pg_catalog."C",
    aggregate_id text NOT NULL COLLATE pg_catalog."C",
    command_type text COLLATE pg_catalog."C",
    status text NOT NULL COLLATE pg_catalog."C",
    reason text COLLATE pg_catalog."C",
    message text COLLATE pg_catalog."C",
    expected_version text COLLATE pg_catalog."C",
    actual_version bigint,
    from_version bigint,
    to_version bigint,
    duplicate boolean NOT NULL,
    correlation_id text NOT NULL COLLATE pg_catalog."C",
    topic text NOT NULL COLLATE pg_catalog."C",
    partition bigint NOT NULL,
    "offset" bigint NOT NULL,
    decided_at timestamp with time zone NOT NULL
);
CREATE TABLE projections.program_tally_row_v1 (
    aggregate_id text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    present boolean NOT NULL,
    group_key text COLLATE pg_catalog."C",
    program text COLLATE pg_catalog."C",
    active boolean,
    last_login timestamp with time zone
);
CREATE TABLE projections.program_tally_v1 (
    program text NOT NULL COLLATE pg_catalog."C",
    number_active bigint NOT NULL,
    number_inactive bigint NOT NULL,
    last_login timestamp with time zone,
    member_count bigint NOT NULL
);
CREATE TABLE projections.projection_built_v1 (
    projection text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    settings text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE projections.projection_held_v1 (
    projection text NOT NULL COLLATE pg_catalog."C",
    projection_version bigint NOT NULL,
    aggregate_type text NOT NULL COLLATE pg_catalog."C",
    aggregate_id text NOT NULL COLLATE pg_catalog."C",
    version_needed bigint NOT NULL,
    version_seen bigint NOT NULL,
    found_at timestamp with time zone NOT NULL,
    error text COLLATE pg_catalog."C"
);
CREATE TABLE projections.projection_intervention_v1 (
    seq bigint NOT NULL,
    projection text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    aggregate_type text NOT NULL COLLATE pg_catalog."C",
    aggregate_id text NOT NULL COLLATE pg_catalog."C",
    event_version bigint NOT NULL,
    kind text NOT NULL COLLATE pg_catalog."C",
    who text NOT NULL COLLATE pg_catalog."C",
    why text COLLATE pg_catalog."C",
    at timestamp with time zone NOT NULL,
    before text COLLATE pg_catalog."C",
    after text COLLATE pg_catalog."C"
);
CREATE TABLE projections.projection_live_v1 (
    projection text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    previous bigint
);
CREATE TABLE projections.projection_parked_v1 (
    projection text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    error text NOT NULL COLLATE pg_catalog."C",
    topic text COLLATE pg_catalog."C",
    partition bigint,
    "offset" bigint,
    parked_at timestamp with time zone NOT NULL
);
CREATE TABLE projections.projection_position_v1 (
    projection text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    topic text NOT NULL COLLATE pg_catalog."C",
    partition bigint NOT NULL,
    next_offset bigint NOT NULL
);
CREATE TABLE projections.projection_sequence_v1 (
    name text NOT NULL COLLATE pg_catalog."C",
    last bigint NOT NULL
);
CREATE TABLE projections.projection_torso_v1 (
    projection text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    build text NOT NULL COLLATE pg_catalog."C"
);
CREATE TABLE projections.us_holder_change_v1 (
    seq bigint NOT NULL,
    client text NOT NULL COLLATE pg_catalog."C",
    kind text NOT NULL COLLATE pg_catalog."C",
    position_id text NOT NULL COLLATE pg_catalog."C",
    event_id text NOT NULL COLLATE pg_catalog."C",
    at timestamp with time zone NOT NULL
);
CREATE TABLE projections.us_holder_from_state_row_v1 (
    aggregate_id text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    present boolean NOT NULL,
    group_key text COLLATE pg_catalog."C",
    client text COLLATE pg_catalog."C",
    exchange text COLLATE pg_catalog."C"
);
CREATE TABLE projections.us_holder_from_state_v1 (
    client text NOT NULL COLLATE pg_catalog."C",
    positions bigint NOT NULL
);
CREATE TABLE projections.us_holder_row_v1 (
    aggregate_id text NOT NULL COLLATE pg_catalog."C",
    version bigint NOT NULL,
    present boolean NOT NULL,
    group_key text COLLATE pg_catalog."C",
    client text COLLATE pg_catalog."C",
    exchange text COLLATE pg_catalog."C",
    opened_at timestamp with time zone
);
CREATE TABLE projections.us_holder_v1 (
    client text NOT NULL COLLATE pg_catalog."C",
    positions bigint NOT NULL,
    since timestamp with time zone NOT NULL
);
CREATE VIEW public.client_recent_order AS
 SELECT client,
    place,
    order_id,
    ticker,
    side,
    quantity,
    filled_quantity,
    limit_price_cents,
    status,
    placed_at
   FROM ( SELECT client_recent_order_v1.group_key AS client,
            row_number() OVER (PARTITION BY client_recent_order_v1.group_key ORDER BY client_recent_order_row_v1.placed_at DESC, client_recent_order_row_v1.aggregate_id DESC) AS place,
            client_recent_order_row_v1.aggregate_id AS order_id,
            client_recent_order_row_v1.ticker,
            client_recent_order_row_v1.side,
            client_recent_order_row_v1.quantity,
            client_recent_order_row_v1.filled_quantity,
            client_recent_order_row_v1.limit_price_cents,
            client_recent_order_row_v1.status,
            client_recent_order_row_v1.placed_at
           FROM (projections.client_recent_order_v1
             JOIN projections.client_recent_order_row_v1 ON (((client_recent_order_row_v1.group_key = client_recent_order_v1.group_key) AND (client_recent_order_row_v1.placed_at >= client_recent_order_v1.since))))) ranked
  WHERE (place <= 30);
CREATE VIEW public.client_recent_order_version AS
 SELECT 'order'::text AS aggregate_type,
    aggregate_id,
    version
   FROM projections.client_recent_order_row_v1;
CREATE VIEW public.event_archive AS
 SELECT global_position,
    aggregate_type,
    aggregate_id,
    version,
    event_id,
    event_type,
    (payload)::jsonb AS payload,
    (metadata)::jsonb AS metadata,
    value,
    hash,
    topic,
    partition,
    "offset",
    decided_at
   FROM projections.event_archive_v1;
CREATE VIEW public.letter AS
 SELECT id,
    topic,
    partition,
    "offset",
    attempt,
    attempts,
    retry_topic,
    due_at,
    status,
    error,
    key,
    bytes,
    headers,
    received_at,
    who,
    why
   FROM projections.letter_v1;
CREATE VIEW public.letter_intervention AS
 SELECT letter_id,
    number,
    kind,
    who,
    why,
    at,
    sha256
   FROM projections.letter_intervention_v1;
CREATE VIEW public.outcome AS
 SELECT command_id,
    aggregate_type,
    aggregate_id,
    command_type,
    status,
    reason,
    message,
    expected_version,
    actual_version,
    from_version,
    to_version,
    duplicate,
    correlation_id,
    topic,
    partition,
    "offset",
    decided_at
   FROM projections.outcome_v1;
CREATE VIEW public.program_tally AS
 SELECT program,
    number_active,
    number_inactive,
    last_login
   FROM projections.program_tally_v1;
CREATE VIEW public.program_tally_version AS
 SELECT 'enrolment'::text AS aggregate_type,
    aggregate_id,
    version
   FROM projections.program_tally_row_v1;
CREATE VIEW public.projection_held AS
 SELECT projection,
    projection_version,
    aggregate_type,
    aggregate_id,
    version_needed,
    version_seen,
    found_at,
    error
   FROM projections.projection_held_v1;
CREATE VIEW public.projection_intervention AS
 SELECT seq,
    projection,
    version,
    aggregate_type,
    aggregate_id,
    event_version,
    kind,
    who,
    why,
    at,
    before,
    after
   FROM projections.projection_intervention_v1;
CREATE VIEW public.projection_live AS
 SELECT projection,
    version,
    previous
   FROM projections.projection_live_v1;
CREATE VIEW public.projection_parked AS
 SELECT projection,
    version,
    error,
    topic,
    partition,
    "offset",
    parked_at
   FROM projections.projection_parked_v1;
CREATE VIEW public.projection_position AS
 SELECT projection,
    version,
    topic,
    partition,
    next_offset
   FROM projections.projection_position_v1;
CREATE VIEW public.us_holder AS
 SELECT client,
    positions,
    since
   FROM projections.us_holder_v1;
CREATE VIEW public.us_holder_change AS
 SELECT seq,
    client,
    kind,
    position_id,
    event_id,
    at
   FROM projections.us_holder_change_v1;
CREATE VIEW public.us_holder_from_state AS
 SELECT client,
    positions
   FROM projections.us_holder_from_state_v1;
CREATE VIEW public.us_holder_version AS
 SELECT 'position'::text AS aggregate_type,
    aggregate_id,
    version
   FROM projections.us_holder_row_v1;
INSERT INTO projections.event_archive_v1 VALUES (1, 'position', 'p-1', 1, 'e5f412f0-f042-5ad7-9f0f-aa346abe6fdc', 'PositionOpened', '{"type":"PositionOpened","client":"ada","ticker":"AAPL","exchange":"NASDAQ","amount":1}', '{"index":0,"count":1,"command_id":"c-1","command_digest":"0101010101010101010101010101010101010101010101010101010101010101","correlation_id":"flow-1","causation_id":"c-1","actor":null,"traceparent":null,"source":{"topic":"position.commands","partition":0,"offset":0},"handler_version":"1","previous_hash":""}', '\x00000000084865356634313266302d663034322d356164372d396630662d61613334366162653666646310706f736974696f6e06702d3102000206632d314001010101010101010101010101010101010101010101010101010101010101010c666c6f772d3106632d310000d0a7d2dfbf6822706f736974696f6e2e636f6d6d616e647300000231000006616461084141504c0c4e415344415102', '4a8f99cdf00c488662f0d199d24465d9b758ff42d903c20dbd580090a640dd2a', 'position.events', 3, 0, '2026-11-21 12:00:01+00');
INSERT INTO projections.event_archive_v1 VALUES (2, 'position', 'p-1', 2, '43c39bd0-816f-5a7e-a5cd-d41f7a5b3538', 'PositionAdjusted', '{"type":"PositionAdjusted","amount":7}', '{"index":0,"count":1,"command_id":"c-1","command_digest":"0101010101010101010101010101010101010101010101010101010101010101","correlation_id":"flow-1","causation_id":"c-1","actor":null,"traceparent":null,"source":{"topic":"position.commands","partition":0,"offset":0},"handler_version":"1","previous_hash":"4a8f99cdf00c488662f0d199d24465d9b758ff42d903c20dbd580090a640dd2a"}', '\x00000000084834336333396264302d383136662d356137652d613563642d64343166376135623335333810706f736974696f6e06702d3104000206632d314001010101010101010101010101010101010101010101010101010101010101010c666c6f772d3106632d310000a0b7d2dfbf6822706f736974696f6e2e636f6d6d616e647300000231404a8f99cdf00c488662f0d199d24465d9b758ff42d903c20dbd580090a640dd2a020e', 'd4ee1dc467a4b7b90adda5c7abeaad78a9d4120b7ff71b93fc796dafa57734b3', 'position.events', 3, 1, '2026-11-21 12:00:02+00');
INSERT INTO projections.event_archive_v1 VALUES (3, 'position', 'p-2', 1, '265aad92-c210-51c9-89d8-9b639d1d051e', 'PositionOpened', '{"type":"PositionOpened","client":"grace","ticker":"AAPL","exchange":"NASDAQ","amount":1}', '{"index":0,"count":1,"command_id":"c-1","command_digest":"0101010101010101010101010101010101010101010101010101010101010101","correlation_id":"flow-1","causation_id":"c-1","actor":null,"traceparent":null,"source":{"topic":"position.commands","partition":0,"offset":0},"handler_version":"1","previous_hash":""}', '\x00000000084832363561616439322d633231302d353163392d383964382d39623633396431643035316510706f736974696f6e06702d3202000206632d314001010101010101010101010101010101010101010101010101010101010101010c666c6f772d3106632d310000f0c6d2dfbf6822706f736974696f6e2e636f6d6d616e64730000023100000a6772616365084141504c0c4e415344415102', 'a2be3c7986a1954193100c1248778a98a115faf93060ca8e8dc335da6977aa08', 'position.events', 1, 0, '2026-11-21 12:00:03+00');
INSERT INTO projections.event_archive_v1 VALUES (4, 'position', 'p-2', 2, '7c1e3945-e9e3-5e29-be41-ec74c173775a', 'PositionClosed', '{"type":"PositionClosed"}', '{"index":0,"count":1,"command_id":"c-1","command_digest":"0101010101010101010101010101010101010101010101010101010101010101","correlation_id":"flow-1","causation_id":"c-1","actor":null,"traceparent":null,"source":{"topic":"position.commands","partition":0,"offset":0},"handler_version":"1","previous_hash":"a2be3c7986a1954193100c1248778a98a115faf93060ca8e8dc335da6977aa08"}', '\x00000000084837633165333934352d653965332d356532392d626534312d65633734633137333737356110706f736974696f6e06702d3204000206632d314001010101010101010101010101010101010101010101010101010101010101010c666c6f772d3106632d310000c0d6d2dfbf6822706f736974696f6e2e636f6d6d616e64730000023140a2be3c7986a1954193100c1248778a98a115faf93060ca8e8dc335da6977aa0808', '9e3b9955ac10928c1b3c5275a16bfbe5f7cacbfea4118b51c443734bff1a0e61', 'position.events', 1, 1, '2026-11-21 12:00:04+00');
INSERT INTO projections.letter_intervention_v1 VALUES ('26f39694-1ea7-567e-9488-3fe48a43d9e2', 1, 'evict', 'ada', 'never to be sent', '2026-11-21 22:26:40+00', '611f604cf9e1d7457e35f32221ad0a5cfb77189707069a34eb4b9b51c29fbe25');
INSERT INTO projections.letter_v1 VALUES ('de87f843-704c-59e6-bb91-f6de5d470b1f', 'dead-letters', 2, 17, 3, 3, 'parcels', NULL, 'PARKED', 'tried 3 times', '\x702d31', '\x7b22746f223a20224d61696e20537472656574227d', '[["color", "red"]]', '2026-11-21 22:26:40+00', NULL, NULL);
INSERT INTO projections.projection_built_v1 VALUES ('event_archive', 1, '');
INSERT INTO projections.projection_built_v1 VALUES ('outcome', 1, '');
INSERT INTO projections.projection_built_v1 VALUES ('us_holder', 1, '{"us_exchanges": ["Cboe BZX", "IEX", "NASDAQ", "NYSE", "NYSE American", "NYSE Arca"]}');
INSERT INTO projections.projection_built_v1 VALUES ('us_holder_from_state', 1, '{"us_exchanges": ["Cboe BZX", "IEX", "NASDAQ", "NYSE", "NYSE American", "NYSE Arca"]}');
INSERT INTO projections.projection_built_v1 VALUES ('client_recent_order', 1, '');
INSERT INTO projections.projection_built_v1 VALUES ('program_tally', 1, '');
INSERT INTO projections.projection_intervention_v1 VALUES (1, 'us_holder', 1, 'position', 'p-1', 1, 'evict', 'ada', 'a test', '2026-11-21 22:26:40+00', '{}', NULL);
INSERT INTO projections.projection_live_v1 VALUES ('event_archive', 1, NULL);
INSERT INTO projections.projection_live_v1 VALUES ('outcome', 1, NULL);
INSERT INTO projections.projection_live_v1 VALUES ('us_holder', 1, NULL);
INSERT INTO projections.projection_live_v1 VALUES ('us_holder_from_state', 1, NULL);
INSERT INTO projections.projection_live_v1 VALUES ('client_recent_order', 1, NULL);
INSERT INTO projections.projection_live_v1 VALUES ('program_tally', 1, NULL);
INSERT INTO projections.projection_position_v1 VALUES ('event_archive', 1, 'position.events', 1, 2);
INSERT INTO projections.projection_position_v1 VALUES ('event_archive', 1, 'position.events', 3, 2);
INSERT INTO projections.projection_position_v1 VALUES ('us_holder', 1, 'position.events', 1, 2);
INSERT INTO projections.projection_position_v1 VALUES ('us_holder', 1, 'position.events', 3, 2);
INSERT INTO projections.projection_position_v1 VALUES ('letters', 1, 'dead-letters', 2, 19);
INSERT INTO projections.projection_sequence_v1 VALUES ('event_archive_v1', 4);
INSERT INTO projections.projection_sequence_v1 VALUES ('us_holder_change_v1', 1);
INSERT INTO projections.projection_sequence_v1 VALUES ('projection_intervention_v1', 1);
INSERT INTO projections.us_holder_change_v1 VALUES (1, 'ada', 'entered', 'p-1', 'e5f412f0-f042-5ad7-9f0f-aa346abe6fdc', '2026-11-21 12:00:01+00');
INSERT INTO projections.us_holder_row_v1 VALUES ('p-2', 2, false, NULL, NULL, NULL, NULL);
INSERT INTO projections.us_holder_row_v1 VALUES ('p-1', 2, true, 'ada', 'ada', 'NASDAQ', '2026-11-21 12:00:01+00');
INSERT INTO projections.us_holder_v1 VALUES ('ada', 1, '2026-11-21 12:00:01+00');
ALTER TABLE ONLY projections.client_recent_order_row_v1
    ADD CONSTRAINT client_recent_order_row_v1_pkey PRIMARY KEY (aggregate_id);
ALTER TABLE ONLY projections.client_recent_order_v1
    ADD CONSTRAINT client_recent_order_v1_pkey PRIMARY KEY (group_key);
ALTER TABLE ONLY projections.event_archive_v1
    ADD CONSTRAINT event_archive_v1_aggregate_type_aggregate_id_version_key UNIQUE (aggregate_type, aggregate_id, version);
ALTER TABLE ONLY projections.event_archive_v1
    ADD CONSTRAINT event_archive_v1_pkey PRIMARY KEY (global_position);
ALTER TABLE ONLY projections.event_archive_v1
    ADD CONSTRAINT event_archive_v1_topic_partition_offset_key UNIQUE (topic, partition, "offset");
ALTER TABLE ONLY projections.letter_intervention_v1
    ADD CONSTRAINT letter_intervention_v1_pkey PRIMARY KEY (letter_id, number);
ALTER TABLE ONLY projections.letter_v1
    ADD CONSTRAINT letter_v1_pkey PRIMARY KEY (id);
ALTER TABLE ONLY projections.outcome_v1
    ADD CONSTRAINT outcome_v1_pkey PRIMARY KEY (topic, partition, "offset");
ALTER TABLE ONLY projections.program_tally_row_v1
    ADD CONSTRAINT program_tally_row_v1_pkey PRIMARY KEY (aggregate_id);
ALTER TABLE ONLY projections.program_tally_v1
    ADD CONSTRAINT program_tally_v1_pkey PRIMARY KEY (program);
ALTER TABLE ONLY projections.projection_built_v1
    ADD CONSTRAINT projection_built_v1_pkey PRIMARY KEY (projection, version);
ALTER TABLE ONLY projections.projection_held_v1
    ADD CONSTRAINT projection_held_v1_pkey PRIMARY KEY (projection, projection_version, aggregate_type, aggregate_id);
ALTER TABLE ONLY projections.projection_intervention_v1
    ADD CONSTRAINT projection_intervention_v1_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY projections.projection_live_v1
    ADD CONSTRAINT projection_live_v1_pkey PRIMARY KEY (projection);
ALTER TABLE ONLY projections.projection_parked_v1
    ADD CONSTRAINT projection_parked_v1_pkey PRIMARY KEY (projection, version);
ALTER TABLE ONLY projections.projection_position_v1
    ADD CONSTRAINT projection_position_v1_pkey PRIMARY KEY (projection, version, topic, partition);
ALTER TABLE ONLY projections.projection_sequence_v1
    ADD CONSTRAINT projection_sequence_v1_pkey PRIMARY KEY (name);
ALTER TABLE ONLY projections.projection_torso_v1
    ADD CONSTRAINT projection_torso_v1_pkey PRIMARY KEY (projection, version);
ALTER TABLE ONLY projections.us_holder_change_v1
    ADD CONSTRAINT us_holder_change_v1_pkey PRIMARY KEY (seq);
ALTER TABLE ONLY projections.us_holder_from_state_row_v1
    ADD CONSTRAINT us_holder_from_state_row_v1_pkey PRIMARY KEY (aggregate_id);
ALTER TABLE ONLY projections.us_holder_from_state_v1
    ADD CONSTRAINT us_holder_from_state_v1_pkey PRIMARY KEY (client);
ALTER TABLE ONLY projections.us_holder_row_v1
    ADD CONSTRAINT us_holder_row_v1_pkey PRIMARY KEY (aggregate_id);
ALTER TABLE ONLY projections.us_holder_v1
    ADD CONSTRAINT us_holder_v1_pkey PRIMARY KEY (client);
CREATE INDEX client_recent_order_row_v1_newest ON projections.client_recent_order_row_v1 USING btree (group_key, placed_at, aggregate_id);
CREATE INDEX letter_due_v1 ON projections.letter_v1 USING btree (status, due_at, id);
CREATE INDEX outcome_v1_aggregate ON projections.outcome_v1 USING btree (aggregate_type, aggregate_id, partition, from_version);
CREATE INDEX outcome_v1_command ON projections.outcome_v1 USING btree (command_id);
CREATE INDEX outcome_v1_correlation ON projections.outcome_v1 USING btree (correlation_id);
CREATE INDEX program_tally_row_v1_last_login ON projections.program_tally_row_v1 USING btree (group_key, last_login);
CREATE INDEX us_holder_row_v1_opened_at ON projections.us_holder_row_v1 USING btree (group_key, opened_at);
