BEGIN TRANSACTION;
CREATE TABLE client_recent_order_row_v1 (
	aggregate_id TEXT NOT NULL, 
	version BIGINT NOT NULL, 
	present BOOLEAN NOT NULL, 
	group_key TEXT, 
	client TEXT, 
	ticker TEXT, 
	side TEXT, 
	quantity BIGINT, 
	filled_quantity BIGINT, 
	limit_price_cents BIGINT, 
	status TEXT, 
	placed_at TEXT, 
	PRIMARY KEY (aggregate_id)
);
CREATE TABLE client_recent_order_v1 (
	group_key TEXT NOT NULL, 
	since TEXT, 
	PRIMARY KEY (group_key)
);
CREATE TABLE event_archive_v1 (
	global_position INTEGER NOT NULL, 
	aggregate_type TEXT NOT NULL, 
	aggregate_id TEXT NOT NULL, 
	version BIGINT NOT NULL, 
	event_id TEXT NOT NULL, 
	event_type TEXT NOT NULL, 
	payload TEXT NOT NULL, 
	metadata TEXT NOT NULL, 
	value BLOB NOT NULL, 
	hash TEXT NOT NULL, 
	topic TEXT NOT NULL, 
	partition BIGINT NOT NULL, 
	"offset" BIGINT NOT NULL, 
	decided_at TEXT NOT NULL, 
	PRIMARY KEY (global_position), 
	UNIQUE (aggregate_type, aggregate_id, version), 
	UNIQUE (topic, partition, "offset")
);
INSERT INTO "event_archive_v1" VALUES(1,'position','p-1',1,'e5f412f0-f042-5ad7-9f0f-aa346abe6fdc','PositionOpened','{"type":"PositionOpened","client":"ada","ticker":"AAPL","exchange":"NASDAQ","amount":1}','{"index":0,"count":1,"command_id":"c-1","command_digest":"0101010101010101010101010101010101010101010101010101010101010101","correlation_id":"flow-1","causation_id":"c-1","actor":null,"traceparent":null,"source":{"topic":"position.commands","partition":0,"offset":0},"handler_version":"1","previous_hash":""}',X'00000000084865356634313266302D663034322D356164372D396630662D61613334366162653666646310706F736974696F6E06702D3102000206632D314001010101010101010101010101010101010101010101010101010101010101010C666C6F772D3106632D310000D0A7D2DFBF6822706F736974696F6E2E636F6D6D616E647300000231000006616461084141504C0C4E415344415102','4a8f99cdf00c488662f0d199d24465d9b758ff42d903c20dbd580090a640dd2a','position.events',3,0,'2026-11-21T12:00:01.000Z');
INSERT INTO "event_archive_v1" VALUES(2,'position','p-1',2,'43c39bd0-816f-5a7e-a5cd-d41f7a5b3538','PositionAdjusted','{"type":"PositionAdjusted","amount":7}','{"index":0,"count":1,"command_id":"c-1","command_digest":"0101010101010101010101010101010101010101010101010101010101010101","correlation_id":"flow-1","causation_id":"c-1","actor":null,"traceparent":null,"source":{"topic":"position.commands","partition":0,"offset":0},"handler_version":"1","previous_hash":"4a8f99cdf00c488662f0d199d24465d9b758ff42d903c20dbd580090a640dd2a"}',X'00000000084834336333396264302D383136662D356137652D613563642D64343166376135623335333810706F736974696F6E06702D3104000206632D314001010101010101010101010101010101010101010101010101010101010101010C666C6F772D3106632D310000A0B7D2DFBF6822706F736974696F6E2E636F6D6D616E647300000231404A8F99CDF00C488662F0D199D24465D9B758FF42D903C20DBD580090A640DD2A020E','d4ee1dc467a4b7b90adda5c7abeaad78a9d4120b7ff71b93fc796dafa57734b3','position.events',3,1,'2026-11-21T12:00:02.000Z');
INSERT INTO "event_archive_v1" VALUES(3,'position','p-2',1,'265aad92-c210-51c9-89d8-9b639d1d051e','PositionOpened','{"type":"PositionOpened","client":"grace","ticker":"AAPL","exchange":"NASDAQ","amount":1}','{"index":0,"count":1,"command_id":"c-1","command_digest":"0101010101010101010101010101010101010101010101010101010101010101","correlation_id":"flow-1","causation_id":"c-1","actor":null,"traceparent":null,"source":{"topic":"position.commands","partition":0,"offset":0},"handler_version":"1","previous_hash":""}',X'00000000084832363561616439322D633231302D353163392D383964382D39623633396431643035316510706F736974696F6E06702D3202000206632D314001010101010101010101010101010101010101010101010101010101010101010C666C6F772D3106632D310000F0C6D2DFBF6822706F736974696F6E2E636F6D6D616E64730000023100000A6772616365084141504C0C4E415344415102','a2be3c7986a1954193100c1248778a98a115faf93060ca8e8dc335da6977aa08','position.events',1,0,'2026-11-21T12:00:03.000Z');
INSERT INTO "event_archive_v1" VALUES(4,'position','p-2',2,'7c1e3945-e9e3-5e29-be41-ec74c173775a','PositionClosed','{"type":"PositionClosed"}','{"index":0,"count":1,"command_id":"c-1","command_digest":"0101010101010101010101010101010101010101010101010101010101010101","correlation_id":"flow-1","causation_id":"c-1","actor":null,"traceparent":null,"source":{"topic":"position.commands","partition":0,"offset":0},"handler_version":"1","previous_hash":"a2be3c7986a1954193100c1248778a98a115faf93060ca8e8dc335da6977aa08"}',X'00000000084837633165333934352D653965332D356532392D626534312D65633734633137333737356110706F736974696F6E06702D3204000206632D314001010101010101010101010101010101010101010101010101010101010101010C666C6F772D3106632D310000C0D6D2DFBF6822706F736974696F6E2E636F6D6D616E64730000023140A2BE3C7986A1954193100C1248778A98A115FAF93060CA8E8DC335DA6977AA0808','9e3b9955ac10928c1b3c5275a16bfbe5f7cacbfea4118b51c443734bff1a0e61','position.events',1,1,'2026-11-21T12:00:04.000Z');
CREATE TABLE letter_intervention_v1 (
	letter_id TEXT NOT NULL, 
	number BIGINT NOT NULL, 
	kind TEXT NOT NULL, 
	who TEXT NOT NULL, 
	why TEXT, 
	at TEXT NOT NULL, 
	sha256 TEXT NOT NULL, 
	PRIMARY KEY (letter_id, number)
);
INSERT INTO "letter_intervention_v1" VALUES('26f39694-1ea7-567e-9488-3fe48a43d9e2',1,'evict','ada','never to be sent','2026-11-21T22:26:40.000Z','611f604cf9e1d7457e35f32221ad0a5cfb77189707069a34eb4b9b51c29fbe25');
CREATE TABLE letter_v1 (
	id TEXT NOT NULL, 
	topic TEXT NOT NULL, 
	partition BIGINT NOT NULL, 
	"offset" BIGINT NOT NULL, 
	attempt BIGINT NOT NULL, 
	attempts BIGINT NOT NULL, 
	retry_topic TEXT NOT NULL, 
	due_at TEXT, 
	status TEXT NOT NULL, 
	error TEXT, 
	"key" BLOB, 
	bytes BLOB, 
	headers TEXT NOT NULL, 
	received_at TEXT NOT NULL, 
	who TEXT, 
	why TEXT, 
	PRIMARY KEY (id)
);
INSERT INTO "letter_v1" VALUES('de87f843-704c-59e6-bb91-f6de5d470b1f','dead-letters',2,17,3,3,'parcels',NULL,'PARKED','tried 3 times',X'702D31',X'7B22746F223A20224D61696E20537472656574227D','[["color", "red"]]','2026-11-21T22:26:40.000Z',NULL,NULL);
CREATE TABLE outcome_v1 (
	command_id TEXT NOT NULL, 
	aggregate_type TEXT NOT NULL, 
	aggregate_id TEXT NOT NULL, 
	command_type TEXT, 
	status TEXT NOT NULL, 
	reason TEXT, 
	message TEXT, 
	expected_version TEXT, 
	actual_version BIGINT, 
	from_version BIGINT, 
	to_version BIGINT, 
	duplicate BOOLEAN NOT NULL, 
	correlation_id TEXT NOT NULL, 
	topic TEXT NOT NULL, 
	partition BIGINT NOT NULL, 
	"offset" BIGINT NOT NULL, 
	decided_at TEXT NOT NULL, 
	PRIMARY KEY (topic, partition, "offset")
);
CREATE TABLE program_tally_row_v1 (
	aggregate_id TEXT NOT NULL, 
	version BIGINT NOT NULL, 
	present BOOLEAN NOT NULL, 
	group_key TEXT, 
	program TEXT, 
	active BOOLEAN, 
	last_login TEXT, 
	PRIMARY KEY (aggregate_id)
);
CREATE TABLE program_tally_v1 (
	program TEXT NOT NULL, 
	number_active BIGINT NOT NULL, 
	number_inactive BIGINT NOT NULL, 
	last_login TEXT, 
	member_count BIGINT NOT NULL, 
	PRIMARY KEY (program)
);
CREATE TABLE projection_built_v1 (
	projection TEXT NOT NULL, 
	version BIGINT NOT NULL, 
	settings TEXT NOT NULL, 
	PRIMARY KEY (projection, version)
);
INSERT INTO "projection_built_v1" VALUES('event_archive',1,'');
INSERT INTO "projection_built_v1" VALUES('outcome',1,'');
INSERT INTO "projection_built_v1" VALUES('us_holder',1,'{"us_exchanges": ["Cboe BZX", "IEX", "NASDAQ", "NYSE", "NYSE American", "NYSE Arca"]}');
INSERT INTO "projection_built_v1" VALUES('us_holder_from_state',1,'{"us_exchanges": ["Cboe BZX", "IEX", "NASDAQ", "NYSE", "NYSE American", "NYSE Arca"]}');
INSERT INTO "projection_built_v1" VALUES('client_recent_order',1,'');
INSERT INTO "projection_built_v1" VALUES('program_tally',1,'');
CREATE TABLE projection_held_v1 (
	projection TEXT NOT NULL, 
	projection_version BIGINT NOT NULL, 
	aggregate_type TEXT NOT NULL, 
	aggregate_id TEXT NOT NULL, 
	version_needed BIGINT NOT NULL, 
	version_seen BIGINT NOT NULL, 
	found_at TEXT NOT NULL, 
	error TEXT, 
	PRIMARY KEY (projection, projection_version, aggregate_type, aggregate_id)
);
CREATE TABLE projection_intervention_v1 (
	seq BIGINT NOT NULL, 
	projection TEXT NOT NULL, 
	version BIGINT NOT NULL, 
	aggregate_type TEXT NOT NULL, 
	aggregate_id TEXT NOT NULL, 
	event_version BIGINT NOT NULL, 
	kind TEXT NOT NULL, 
	who TEXT NOT NULL, 
	why TEXT, 
	at TEXT NOT NULL, 
	"before" TEXT, 
	"after" TEXT, 
	PRIMARY KEY (seq)
);
INSERT INTO "projection_intervention_v1" VALUES(1,'us_holder',1,'position','p-1',1,'evict','ada','a test','2026-11-21T22:26:40.000Z','{}',NULL);
CREATE TABLE projection_live_v1 (
	projection TEXT NOT NULL, 
	version BIGINT NOT NULL, 
	previous BIGINT, 
	PRIMARY KEY (projection)
);
INSERT INTO "projection_live_v1" VALUES('event_archive',1,NULL);
INSERT INTO "projection_live_v1" VALUES('outcome',1,NULL);
INSERT INTO "projection_live_v1" VALUES('us_holder',1,NULL);
INSERT INTO "projection_live_v1" VALUES('us_holder_from_state',1,NULL);
INSERT INTO "projection_live_v1" VALUES('client_recent_order',1,NULL);
INSERT INTO "projection_live_v1" VALUES('program_tally',1,NULL);
CREATE TABLE projection_parked_v1 (
	projection TEXT NOT NULL, 
	version BIGINT NOT NULL, 
	error TEXT NOT NULL, 
	topic TEXT, 
	partition BIGINT, 
	"offset" BIGINT, 
	parked_at TEXT NOT NULL, 
	PRIMARY KEY (projection, version)
);
CREATE TABLE projection_position_v1 (
	projection TEXT NOT NULL, 
	version BIGINT NOT NULL, 
	topic TEXT NOT NULL, 
	partition BIGINT NOT NULL, 
	next_offset BIGINT NOT NULL, 
	PRIMARY KEY (projection, version, topic, partition)
);
INSERT INTO "projection_position_v1" VALUES('event_archive',1,'position.events',1,2);
INSERT INTO "projection_position_v1" VALUES('event_archive',1,'position.events',3,2);
INSERT INTO "projection_position_v1" VALUES('us_holder',1,'position.events',1,2);
INSERT INTO "projection_position_v1" VALUES('us_holder',1,'position.events',3,2);
INSERT INTO "projection_position_v1" VALUES('letters',1,'dead-letters',2,19);
CREATE TABLE projection_sequence_v1 (
	name TEXT NOT NULL, 
	last BIGINT NOT NULL, 
	PRIMARY KEY (name)
);
INSERT INTO "projection_sequence_v1" VALUES('projection_intervention_v1',1);
INSERT INTO "projection_sequence_v1" VALUES('event_archive_v1',4);
INSERT INTO "projection_sequence_v1" VALUES('us_holder_change_v1',1);
CREATE TABLE projection_torso_v1 (
	projection TEXT NOT NULL, 
	version BIGINT NOT NULL, 
	build TEXT NOT NULL, 
	PRIMARY KEY (projection, version)
);
CREATE TABLE us_holder_change_v1 (
	seq BIGINT NOT NULL, 
	client TEXT NOT NULL, 
	kind TEXT NOT NULL, 
	position_id TEXT NOT NULL, 
	event_id TEXT NOT NULL, 
	at TEXT NOT NULL, 
	PRIMARY KEY (seq)
);
INSERT INTO "us_holder_change_v1" VALUES(1,'ada','entered','p-1','e5f412f0-f042-5ad7-9f0f-aa346abe6fdc','2026-11-21T12:00:01.000Z');
CREATE TABLE us_holder_from_state_row_v1 (
	aggregate_id TEXT NOT NULL, 
	version BIGINT NOT NULL, 
	present BOOLEAN NOT NULL, 
	group_key TEXT, 
	client TEXT, 
	exchange TEXT, 
	PRIMARY KEY (aggregate_id)
);
CREATE TABLE us_holder_from_state_v1 (
	client TEXT NOT NULL, 
	positions BIGINT NOT NULL, 
	PRIMARY KEY (client)
);
CREATE TABLE us_holder_row_v1 (
	aggregate_id TEXT NOT NULL, 
	version BIGINT NOT NULL, 
	present BOOLEAN NOT NULL, 
	group_key TEXT, 
	client TEXT, 
	exchange TEXT, 
	opened_at TEXT, 
	PRIMARY KEY (aggregate_id)
);
INSERT INTO "us_holder_row_v1" VALUES('p-2',2,0,NULL,NULL,NULL,NULL);
INSERT INTO "us_holder_row_v1" VALUES('p-1',2,1,'ada','ada','NASDAQ','2026-11-21T12:00:01.000Z');
CREATE TABLE us_holder_v1 (
	client TEXT NOT NULL, 
	positions BIGINT NOT NULL, 
	since TEXT NOT NULL, 
	PRIMARY KEY (client)
);
INSERT INTO "us_holder_v1" VALUES('ada',1,'2026-11-21T12:00:01.000Z');
CREATE INDEX letter_due_v1 ON letter_v1 (status, due_at, id);
CREATE VIEW projection_position AS SELECT projection_position_v1.projection, projection_position_v1.version, projection_position_v1.topic, projection_position_v1.partition, projection_position_v1.next_offset 
FROM projection_position_v1;
CREATE VIEW projection_held AS SELECT projection_held_v1.projection, projection_held_v1.projection_version, projection_held_v1.aggregate_type, projection_held_v1.aggregate_id, projection_held_v1.version_needed, projection_held_v1.version_seen, projection_held_v1.found_at, projection_held_v1.error 
FROM projection_held_v1;
CREATE VIEW projection_parked AS SELECT projection_parked_v1.projection, projection_parked_v1.version, projection_parked_v1.error, projection_parked_v1.topic, projection_parked_v1.partition, projection_parked_v1."offset", projection_parked_v1.parked_at 
FROM projection_parked_v1;
CREATE VIEW projection_live AS SELECT projection_live_v1.projection, projection_live_v1.version, projection_live_v1.previous 
FROM projection_live_v1;
CREATE VIEW letter AS SELECT letter_v1.id, letter_v1.topic, letter_v1.partition, letter_v1."offset", letter_v1.attempt, letter_v1.attempts, letter_v1.retry_topic, letter_v1.due_at, letter_v1.status, letter_v1.error, letter_v1."key", letter_v1.bytes, letter_v1.headers, letter_v1.received_at, letter_v1.who, letter_v1.why 
FROM letter_v1;
CREATE VIEW letter_intervention AS SELECT letter_intervention_v1.letter_id, letter_intervention_v1.number, letter_intervention_v1.kind, letter_intervention_v1.who, letter_intervention_v1.why, letter_intervention_v1.at, letter_intervention_v1.sha256 
FROM letter_intervention_v1;
CREATE VIEW projection_intervention AS SELECT projection_intervention_v1.seq, projection_intervention_v1.projection, projection_intervention_v1.version, projection_intervention_v1.aggregate_type, projection_intervention_v1.aggregate_id, projection_intervention_v1.event_version, projection_intervention_v1.kind, projection_intervention_v1.who, projection_intervention_v1.why, projection_intervention_v1.at, projection_intervention_v1."before", projection_intervention_v1."after" 
FROM projection_intervention_v1;
CREATE VIEW event_archive AS SELECT event_archive_v1.global_position, event_archive_v1.aggregate_type, event_archive_v1.aggregate_id, event_archive_v1.version, event_archive_v1.event_id, event_archive_v1.event_type, CAST(event_archive_v1.payload AS TEXT) AS payload, CAST(event_archive_v1.metadata AS TEXT) AS metadata, event_archive_v1.value, event_archive_v1.hash, event_archive_v1.topic, event_archive_v1.partition, event_archive_v1."offset", event_archive_v1.decided_at 
FROM event_archive_v1;
CREATE INDEX outcome_v1_command ON outcome_v1 (command_id);
CREATE INDEX outcome_v1_aggregate ON outcome_v1 (aggregate_type, aggregate_id, partition, from_version);
CREATE INDEX outcome_v1_correlation ON outcome_v1 (correlation_id);
CREATE VIEW outcome AS SELECT outcome_v1.command_id, outcome_v1.aggregate_type, outcome_v1.aggregate_id, outcome_v1.command_type, outcome_v1.status, outcome_v1.reason, outcome_v1.message, outcome_v1.expected_version, outcome_v1.actual_version, outcome_v1.from_version, outcome_v1.to_version, outcome_v1.duplicate, outcome_v1.correlation_id, outcome_v1.topic, outcome_v1.partition, outcome_v1."offset", outcome_v1.decided_at 
FROM outcome_v1;
CREATE INDEX us_holder_row_v1_opened_at ON us_holder_row_v1 (group_key, opened_at);
CREATE VIEW us_holder AS SELECT us_holder_v1.client, us_holder_v1.positions, us_holder_v1.since 
FROM us_holder_v1;
CREATE VIEW us_holder_change AS SELECT us_holder_change_v1.seq, us_holder_change_v1.client, us_holder_change_v1.kind, us_holder_change_v1.position_id, us_holder_change_v1.event_id, us_holder_change_v1.at 
FROM us_holder_change_v1;
CREATE VIEW us_holder_version AS SELECT 'position' AS aggregate_type, us_holder_row_v1.aggregate_id, us_holder_row_v1.version 
FROM us_holder_row_v1;
CREATE VIEW us_holder_from_state AS SELECT us_holder_from_state_v1.client, us_holder_from_state_v1.positions 
FROM us_holder_from_state_v1;
CREATE INDEX client_recent_order_row_v1_newest ON client_recent_order_row_v1 (group_key, placed_at, aggregate_id);
CREATE VIEW client_recent_order AS SELECT ranked.client, ranked.place, ranked.order_id, ranked.ticker, ranked.side, ranked.quantity, ranked.filled_quantity, ranked.limit_price_cents, ranked.status, ranked.placed_at 
FROM (SELECT client_recent_order_v1.group_key AS client, row_number() OVER (PARTITION BY client_recent_order_v1.group_key ORDER BY client_recent_order_row_v1.placed_at DESC, client_recent_order_row_v1.aggregate_id DESC) AS place, client_recent_order_row_v1.aggregate_id AS order_id, client_recent_order_row_v1.ticker AS ticker, client_recent_order_row_v1.side AS side, client_recent_order_row_v1.quantity AS quantity, client_recent_order_row_v1.filled_quantity AS filled_quantity, client_recent_order_row_v1.limit_price_cents AS limit_price_cents, client_recent_order_row_v1.status AS status, client_recent_order_row_v1.placed_at AS placed_at 
FROM client_recent_order_v1 JOIN client_recent_order_row_v1 ON client_recent_order_row_v1.group_key = client_recent_order_v1.group_key AND client_recent_order_row_v1.placed_at >= client_recent_order_v1.since) AS ranked 
WHERE ranked.place <= 30;
CREATE VIEW client_recent_order_version AS SELECT 'order' AS aggregate_type, client_recent_order_row_v1.aggregate_id, client_recent_order_row_v1.version 
FROM client_recent_order_row_v1;
CREATE INDEX program_tally_row_v1_last_login ON program_tally_row_v1 (group_key, last_login);
CREATE VIEW program_tally AS SELECT program_tally_v1.program, program_tally_v1.number_active, program_tally_v1.number_inactive, program_tally_v1.last_login 
FROM program_tally_v1;
CREATE VIEW program_tally_version AS SELECT 'enrolment' AS aggregate_type, program_tally_row_v1.aggregate_id, program_tally_row_v1.version 
FROM program_tally_row_v1;
CREATE VIEW mail_outbox AS SELECT mail_outbox_v1.week, mail_outbox_v1.client, mail_outbox_v1.positions, mail_outbox_v1.status, mail_outbox_v1.message_id, mail_outbox_v1.worker, mail_outbox_v1.lease_until, mail_outbox_v1.sent_at, mail_outbox_v1.error 
FROM mail_outbox_v1;
COMMIT;
