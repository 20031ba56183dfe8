PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE accept(
  accept_key BLOB NOT NULL PRIMARY KEY CHECK (length(accept_key) = 16),
  run_id TEXT NOT NULL REFERENCES run(run_id),
  case_glob TEXT NOT NULL,
  accepted_by TEXT NOT NULL CHECK (accepted_by <> ''),
  reason TEXT NOT NULL CHECK (reason <> ''),
  accepted_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO accept VALUES(X'5cc9f97193b6682ba2c591de531510b3','78c87810-f0b3-48a0-88e6-bcc6747cafea','*','somebody','a release','2026-11-23T07:35:52.529Z');
INSERT INTO accept VALUES(X'a919570bdc90ca92769afd8b906811cd','688b6ba9-f0ba-40e9-9b50-e100213e9a87','*','somebody','a release','2026-11-23T07:35:52.499Z');
CREATE TABLE accepted_case(
  run_id TEXT NOT NULL,
  case_key BLOB NOT NULL REFERENCES attention_case(case_key),
  accept_key BLOB NOT NULL REFERENCES accept(accept_key),
  PRIMARY KEY (run_id, case_key, accept_key)
) STRICT, WITHOUT ROWID;
INSERT INTO accepted_case VALUES('688b6ba9-f0ba-40e9-9b50-e100213e9a87',X'2346371ff7c9f711d847293707aa8208',X'a919570bdc90ca92769afd8b906811cd');
INSERT INTO accepted_case VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',X'2346371ff7c9f711d847293707aa8208',X'5cc9f97193b6682ba2c591de531510b3');
INSERT INTO accepted_case VALUES('688b6ba9-f0ba-40e9-9b50-e100213e9a87',X'343aefb2cea0184fd6365be178e51481',X'a919570bdc90ca92769afd8b906811cd');
INSERT INTO accepted_case VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',X'343aefb2cea0184fd6365be178e51481',X'5cc9f97193b6682ba2c591de531510b3');
INSERT INTO accepted_case VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',X'4db5b780562bad597c8d19a4ac3268d1',X'5cc9f97193b6682ba2c591de531510b3');
INSERT INTO accepted_case VALUES('688b6ba9-f0ba-40e9-9b50-e100213e9a87',X'73d8768ea94e5aded6ba86350c027fad',X'a919570bdc90ca92769afd8b906811cd');
INSERT INTO accepted_case VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',X'73d8768ea94e5aded6ba86350c027fad',X'5cc9f97193b6682ba2c591de531510b3');
INSERT INTO accepted_case VALUES('688b6ba9-f0ba-40e9-9b50-e100213e9a87',X'928736172b2919807c0ea21f16e1b36f',X'a919570bdc90ca92769afd8b906811cd');
INSERT INTO accepted_case VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',X'928736172b2919807c0ea21f16e1b36f',X'5cc9f97193b6682ba2c591de531510b3');
INSERT INTO accepted_case VALUES('688b6ba9-f0ba-40e9-9b50-e100213e9a87',X'ec1a9a67ea376b30a4b60ad1749a1f6e',X'a919570bdc90ca92769afd8b906811cd');
INSERT INTO accepted_case VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',X'ec1a9a67ea376b30a4b60ad1749a1f6e',X'5cc9f97193b6682ba2c591de531510b3');
CREATE TABLE acknowledged_case(
  run_id TEXT NOT NULL,
  case_key BLOB NOT NULL REFERENCES attention_case(case_key),
  acknowledgement_key BLOB NOT NULL REFERENCES acknowledgement(acknowledgement_key),
  PRIMARY KEY (case_key, run_id, acknowledgement_key)
) STRICT, WITHOUT ROWID;
INSERT INTO acknowledged_case VALUES('267d95b3-6d3c-49bc-8edf-d181502d9e5c',X'2346371ff7c9f711d847293707aa8208',X'000102030405060708090a0b0c0d0e0f');
CREATE TABLE acknowledgement(
  acknowledgement_key BLOB NOT NULL PRIMARY KEY CHECK (length(acknowledgement_key) = 16),
  run_id TEXT NOT NULL REFERENCES run(run_id),
  case_glob TEXT NOT NULL,
  acknowledged_by TEXT NOT NULL CHECK (acknowledged_by <> ''),
  reason TEXT NOT NULL CHECK (reason <> ''),
  acknowledged_at TEXT NOT NULL,
  until TEXT NOT NULL  -- "2027-01-30"; '' = without an end
) STRICT, WITHOUT ROWID;
INSERT INTO acknowledgement VALUES(X'000102030405060708090a0b0c0d0e0f','267d95b3-6d3c-49bc-8edf-d181502d9e5c','*','me','known','2026-11-22T00:00:00Z','');
CREATE TABLE attention_case(
  case_key BLOB NOT NULL PRIMARY KEY CHECK (length(case_key) = 16),
  case_id TEXT NOT NULL UNIQUE,
  -- Names the case without the ordinal of its device, so that cuda:0 and cuda:1 of one model share
  -- a series: a case on a machine class, by a provider with the same options.
  series_key BLOB NOT NULL CHECK (length(series_key) = 16),
  kernel TEXT NOT NULL,
  device TEXT NOT NULL,
  inputs TEXT NOT NULL,  -- recorded in a file; '' where a law generates them
  dtype TEXT NOT NULL,
  kv_dtype TEXT NOT NULL,
  out_dtype TEXT NOT NULL,
  batch INTEGER NOT NULL,
  heads_q INTEGER NOT NULL,
  heads_kv INTEGER NOT NULL,
  seq_q INTEGER NOT NULL,
  seq_kv INTEGER NOT NULL,
  head_dim_qk INTEGER NOT NULL,
  head_dim_vo INTEGER NOT NULL,
  mask TEXT NOT NULL,
  window_left INTEGER NOT NULL,
  window_right INTEGER NOT NULL,
  layout TEXT NOT NULL,
  lengths TEXT NOT NULL,
  padding TEXT NOT NULL,
  page_size INTEGER NOT NULL,
  fill TEXT NOT NULL,
  law TEXT NOT NULL,
  v_law TEXT NOT NULL,
  k_scale REAL NOT NULL,
  v_scale REAL NOT NULL,
  scale REAL NOT NULL,
  softcap REAL NOT NULL,
  alibi TEXT NOT NULL,
  sinks TEXT NOT NULL,
  kv_scales TEXT NOT NULL,
  scale_block INTEGER NOT NULL,
  view TEXT NOT NULL,
  merge TEXT NOT NULL,
  lse INTEGER NOT NULL,
  seed INTEGER NOT NULL  -- the 64 bits of an unsigned number
) STRICT, WITHOUT ROWID;
INSERT INTO attention_case VALUES(X'2346371ff7c9f711d847293707aa8208','cpu/flash/bf16/b1-h1-s20-d16',X'2346371ff7c9f711d847293707aa8208','cpu/flash','cpu','','bf16','bf16','bf16',1,1,1,20,20,16,16,'none',-1,-1,'padded_bshd','full','right',16,'garbage','normal','normal',1.0,1.0,0.0,0.0,'none','none','tensor',64,'plain','none',1,1);
INSERT INTO attention_case VALUES(X'343aefb2cea0184fd6365be178e51481','cpu/flash_tile32/bf16/b1-h1-s20-d16',X'343aefb2cea0184fd6365be178e51481','cpu/flash_tile32','cpu','','bf16','bf16','bf16',1,1,1,20,20,16,16,'none',-1,-1,'padded_bshd','full','right',16,'garbage','normal','normal',1.0,1.0,0.0,0.0,'none','none','tensor',64,'plain','none',1,1);
INSERT INTO attention_case VALUES(X'4db5b780562bad597c8d19a4ac3268d1','cpu/flash/fp32/b1-h1-s20-d16',X'4db5b780562bad597c8d19a4ac3268d1','cpu/flash','cpu','','fp32','fp32','fp32',1,1,1,20,20,16,16,'none',-1,-1,'padded_bshd','full','right',16,'garbage','normal','normal',1.0,1.0,0.0,0.0,'none','none','tensor',64,'plain','none',1,1);
INSERT INTO attention_case VALUES(X'73d8768ea94e5aded6ba86350c027fad','cpu/flash/bf16/b1-h1-s20-d16/view=packed_qkv',X'73d8768ea94e5aded6ba86350c027fad','cpu/flash','cpu','','bf16','bf16','bf16',1,1,1,20,20,16,16,'none',-1,-1,'padded_bshd','full','right',16,'garbage','normal','normal',1.0,1.0,0.0,0.0,'none','none','tensor',64,'packed_qkv','none',1,1);
INSERT INTO attention_case VALUES(X'928736172b2919807c0ea21f16e1b36f','cpu/flash/bf16/b1-h1-s700-d16',X'928736172b2919807c0ea21f16e1b36f','cpu/flash','cpu','','bf16','bf16','bf16',1,1,1,700,700,16,16,'none',-1,-1,'padded_bshd','full','right',16,'garbage','normal','normal',1.0,1.0,0.0,0.0,'none','none','tensor',64,'plain','none',1,1);
INSERT INTO attention_case VALUES(X'ca6444c13bf72e557aa1e6526aef5ca4','cpu/naive/fp16/b1-h8x2-s17x33-d64/mask=causal_bottom_right',X'ca6444c13bf72e557aa1e6526aef5ca4','cpu/naive','cpu','','fp16','fp16','fp16',1,8,2,17,33,64,64,'causal_bottom_right',-1,-1,'padded_bshd','full','right',16,'garbage','normal','normal',1.0,1.0,0.0,0.0,'none','none','tensor',64,'plain','none',1,1);
INSERT INTO attention_case VALUES(X'ec1a9a67ea376b30a4b60ad1749a1f6e','cpu/merge/bf16/b2-h1-s1x3-d1x16/merge=natural',X'ec1a9a67ea376b30a4b60ad1749a1f6e','cpu/merge','cpu','','bf16','bf16','bf16',2,1,1,1,3,1,16,'none',-1,-1,'padded_bshd','full','right',16,'garbage','normal','normal',1.0,1.0,0.0,0.0,'none','none','tensor',64,'plain','natural',1,1);
CREATE TABLE build(
  build_key BLOB NOT NULL PRIMARY KEY CHECK (length(build_key) = 16),
  build_kernel TEXT NOT NULL,
  build_id TEXT NOT NULL,
  launched TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO build VALUES(X'047558da961da67f6163b0004b0f5806','cpu/flash_tile32','0ed05fe0e0b4e673+947eebff4938bb57','cpu/flash_tile32 tile 32x32 fp32 accumulate, options slow=2');
INSERT INTO build VALUES(X'1e2fb89fa6c7b7f46113fd38eb0ecc79','cpu/merge','0ed05fe0e0b4e673','cpu/merge fp32');
INSERT INTO build VALUES(X'3a40aff64e9453c2cc88e36b4d66bd89','cpu/flash_tile32','0ed05fe0e0b4e673','cpu/flash_tile32 tile 32x32 fp32 accumulate');
INSERT INTO build VALUES(X'79652e701749534fb8c227502150a7f3','cpu/merge','0ed05fe0e0b4e673+947eebff4938bb57','cpu/merge fp32');
INSERT INTO build VALUES(X'880b2ce3182d3a423cdb3b96e3f226c2','cpu/flash','','');
INSERT INTO build VALUES(X'8964ffd69d06df829a4319fd4467adef','cpu/flash','0ed05fe0e0b4e673+947eebff4938bb57','cpu/flash tile 32x64 fp32 accumulate, options slow=2');
INSERT INTO build VALUES(X'8f6d2eb95c09aa88fde9210b76c51cc5','cpu/naive','beca4bb42365fcdc+f4ffc694771e590b','cpu/naive tile 32x64 fp32 accumulate, options max_logit=1');
INSERT INTO build VALUES(X'a29e06817e28da864e6ab1b75ad19d16','cpu/flash','0ed05fe0e0b4e673','cpu/flash tile 32x64 fp32 accumulate');
CREATE TABLE diff(
  run_id TEXT NOT NULL REFERENCES run(run_id),
  judge_version INTEGER NOT NULL,
  reference_version INTEGER NOT NULL,
  inputs_version INTEGER NOT NULL,
  suite TEXT NOT NULL,
  name TEXT NOT NULL,
  tier TEXT NOT NULL,
  expect TEXT NOT NULL,
  case_a TEXT NOT NULL,
  case_b TEXT NOT NULL,
  status TEXT NOT NULL
    CHECK (status IN ('ok', 'unsupported', 'crashed', 'timeout', 'out_of_memory', 'error')),
  reason TEXT NOT NULL,
  compared_rows INTEGER CHECK ((compared_rows IS NOT NULL) = (status = 'ok')),
  elements INTEGER CHECK ((elements IS NOT NULL) = (status = 'ok')),
  max_abs REAL CHECK ((max_abs IS NOT NULL) = (status = 'ok')),
  mean_abs REAL CHECK ((mean_abs IS NOT NULL) = (status = 'ok')),
  max_rel REAL CHECK ((max_rel IS NOT NULL) = (status = 'ok')),
  mean_rel REAL CHECK ((mean_rel IS NOT NULL) = (status = 'ok')),
  max_sigma REAL CHECK ((max_sigma IS NOT NULL) = (status = 'ok')),
  max_ulp REAL CHECK ((max_ulp IS NOT NULL) = (status = 'ok')),
  max_rel_expected REAL CHECK ((max_rel_expected IS NOT NULL) = (status = 'ok')),
  rms_output REAL CHECK ((rms_output IS NOT NULL) = (status = 'ok')),
  max_abs_sample INTEGER CHECK ((max_abs_sample IS NOT NULL) = (status = 'ok')),
  max_abs_head INTEGER CHECK ((max_abs_head IS NOT NULL) = (status = 'ok')),
  max_abs_row INTEGER CHECK ((max_abs_row IS NOT NULL) = (status = 'ok')),
  max_abs_column INTEGER CHECK ((max_abs_column IS NOT NULL) = (status = 'ok')),
  max_rel_sample INTEGER CHECK ((max_rel_sample IS NOT NULL) = (status = 'ok')),
  max_rel_head INTEGER CHECK ((max_rel_head IS NOT NULL) = (status = 'ok')),
  max_rel_row INTEGER CHECK ((max_rel_row IS NOT NULL) = (status = 'ok')),
  max_rel_column INTEGER CHECK ((max_rel_column IS NOT NULL) = (status = 'ok')),
  bit_equal_share REAL CHECK ((bit_equal_share IS NOT NULL) = (status = 'ok')),
  heads INTEGER CHECK ((heads IS NOT NULL) = (status = 'ok')),
  heads_bit_equal INTEGER CHECK ((heads_bit_equal IS NOT NULL) = (status = 'ok')),
  rms_a REAL CHECK ((rms_a IS NOT NULL) = (status = 'ok')),
  rms_b REAL CHECK ((rms_b IS NOT NULL) = (status = 'ok')),
  -- [[sample, head, mean_abs, max_abs, bit_equal], …]
  per_head TEXT NOT NULL CHECK (json_valid(per_head)),
  time_ns_a REAL NOT NULL,                              -- 0 unless timed
  time_ns_b REAL NOT NULL,
  verdict TEXT NOT NULL REFERENCES verdict(verdict),
  percent_of_limit REAL NOT NULL,
  nearest_statistic TEXT NOT NULL,
  findings TEXT NOT NULL CHECK (json_valid(findings)),
  notes TEXT NOT NULL CHECK (json_valid(notes)),
  UNIQUE (run_id, suite, name, case_a, case_b)
) STRICT;
INSERT INTO diff VALUES('449e1d5f-027e-4529-83ab-239906ff0250',3,5,1,'release','tiles','smoke','report','cpu/flash/bf16/b1-h1-s20-d16','cpu/flash_tile32/bf16/b1-h1-s20-d16','ok','',20,320,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.33300386295530187696,0,0,0,0,0,0,0,0,1.0,1,1,0.00069151928860031598549,0.00069151928860031598549,'[[0,0,0.0,0.0,true]]',0.0,0.0,'pass',0.0,'','[]','["reported, not judged: largest difference 0, mean 0; the largest relative difference is 0, where |expected| is 0 of the output''s rms"]');
INSERT INTO diff VALUES('688b6ba9-f0ba-40e9-9b50-e100213e9a87',3,5,1,'release','tiles','smoke','report','cpu/flash/bf16/b1-h1-s20-d16','cpu/flash_tile32/bf16/b1-h1-s20-d16','ok','',20,320,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.33300386295530187696,0,0,0,0,0,0,0,0,1.0,1,1,0.00069151928860031598549,0.00069151928860031598549,'[[0,0,0.0,0.0,true]]',0.0,0.0,'pass',0.0,'','[]','["reported, not judged: largest difference 0, mean 0; the largest relative difference is 0, where |expected| is 0 of the output''s rms"]');
INSERT INTO diff VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',3,5,1,'release','tiles','smoke','report','cpu/flash/bf16/b1-h1-s20-d16','cpu/flash_tile32/bf16/b1-h1-s20-d16','ok','',20,320,0.0,0.0,0.0,0.0,0.0,0.0,0.0,0.33300386295530187696,0,0,0,0,0,0,0,0,1.0,1,1,0.00069151928860031598549,0.00069151928860031598549,'[[0,0,0.0,0.0,true]]',0.0,0.0,'pass',0.0,'','[]','["reported, not judged: largest difference 0, mean 0; the largest relative difference is 0, where |expected| is 0 of the output''s rms"]');
CREATE TABLE kernel_resources(
  run_id TEXT NOT NULL REFERENCES run(run_id),
  source TEXT NOT NULL,
  kernel TEXT NOT NULL,
  launch TEXT NOT NULL,
  arch TEXT NOT NULL,
  toolkit TEXT NOT NULL,
  threads INTEGER,
  registers INTEGER,
  stack_bytes INTEGER,
  spill_store_bytes INTEGER,
  spill_load_bytes INTEGER,
  static_shared_bytes INTEGER,
  dynamic_shared_bytes INTEGER,
  constant_bytes INTEGER,
  barriers INTEGER,
  active_warps INTEGER,
  most_warps INTEGER,
  limited_by TEXT,
  tensor_cores INTEGER,
  predicted_registers REAL,
  predicted_shared_bytes INTEGER,
  verdict TEXT NOT NULL CHECK (verdict IN (
    'pass', 'improved', 'changed', 'first_seen', 'regressed', 'missing', 'not comparable')),
  why TEXT NOT NULL,
  UNIQUE (run_id, source, kernel, launch, arch)
) STRICT;
INSERT INTO kernel_resources VALUES('267d95b3-6d3c-49bc-8edf-d181502d9e5c','kernels/attention/decode_mma.cu','decode_mma<DecodeMma<BFloat16, 128>>','','sm_90a','nvcc 13.0.88',128,128,0,0,0,0,69632,0,1,12,64,'shared memory',1,24.0,69632,'pass','');
INSERT INTO kernel_resources VALUES('267d95b3-6d3c-49bc-8edf-d181502d9e5c','kernels/attention/decode_mma.cu','decode_mma<DecodeMma<BFloat16, 256>>','','sm_90a','nvcc 13.0.88',64,241,0,0,0,0,73728,0,1,6,64,'shared memory',1,72.0,73728,'pass','');
CREATE TABLE latest_outcome(
  series_key BLOB NOT NULL CHECK (length(series_key) = 16),
  machine_key BLOB NOT NULL REFERENCES machine_class(machine_key),
  provider_options TEXT NOT NULL,
  suite TEXT NOT NULL,
  case_key BLOB NOT NULL REFERENCES attention_case(case_key),
  run_order TEXT NOT NULL,
  run_id TEXT NOT NULL REFERENCES run(run_id),
  PRIMARY KEY (series_key, machine_key, provider_options, suite, case_key)
) STRICT, WITHOUT ROWID;
INSERT INTO latest_outcome VALUES(X'2346371ff7c9f711d847293707aa8208',X'7686ac39030b9e5bcd7e33624aea2de2','','release',X'2346371ff7c9f711d847293707aa8208','2026-11-23T07:35:30.000000000 01795419330871325611 78c87810-f0b3-48a0-88e6-bcc6747cafea','78c87810-f0b3-48a0-88e6-bcc6747cafea');
INSERT INTO latest_outcome VALUES(X'2346371ff7c9f711d847293707aa8208',X'7686ac39030b9e5bcd7e33624aea2de2','slow=2','release',X'2346371ff7c9f711d847293707aa8208','2026-11-23T07:35:29.000000000 01795419329674030057 449e1d5f-027e-4529-83ab-239906ff0250','449e1d5f-027e-4529-83ab-239906ff0250');
INSERT INTO latest_outcome VALUES(X'343aefb2cea0184fd6365be178e51481',X'7686ac39030b9e5bcd7e33624aea2de2','','release',X'343aefb2cea0184fd6365be178e51481','2026-11-23T07:35:30.000000000 01795419330871325611 78c87810-f0b3-48a0-88e6-bcc6747cafea','78c87810-f0b3-48a0-88e6-bcc6747cafea');
INSERT INTO latest_outcome VALUES(X'343aefb2cea0184fd6365be178e51481',X'7686ac39030b9e5bcd7e33624aea2de2','slow=2','release',X'343aefb2cea0184fd6365be178e51481','2026-11-23T07:35:29.000000000 01795419329674030057 449e1d5f-027e-4529-83ab-239906ff0250','449e1d5f-027e-4529-83ab-239906ff0250');
INSERT INTO latest_outcome VALUES(X'4db5b780562bad597c8d19a4ac3268d1',X'7686ac39030b9e5bcd7e33624aea2de2','','release',X'4db5b780562bad597c8d19a4ac3268d1','2026-11-23T07:35:29.000000000 01795419329793241441 688b6ba9-f0ba-40e9-9b50-e100213e9a87','688b6ba9-f0ba-40e9-9b50-e100213e9a87');
INSERT INTO latest_outcome VALUES(X'4db5b780562bad597c8d19a4ac3268d1',X'7686ac39030b9e5bcd7e33624aea2de2','slow=2','release',X'4db5b780562bad597c8d19a4ac3268d1','2026-11-23T07:35:29.000000000 01795419329674030057 449e1d5f-027e-4529-83ab-239906ff0250','449e1d5f-027e-4529-83ab-239906ff0250');
INSERT INTO latest_outcome VALUES(X'73d8768ea94e5aded6ba86350c027fad',X'7686ac39030b9e5bcd7e33624aea2de2','','release',X'73d8768ea94e5aded6ba86350c027fad','2026-11-23T07:35:30.000000000 01795419330871325611 78c87810-f0b3-48a0-88e6-bcc6747cafea','78c87810-f0b3-48a0-88e6-bcc6747cafea');
INSERT INTO latest_outcome VALUES(X'73d8768ea94e5aded6ba86350c027fad',X'7686ac39030b9e5bcd7e33624aea2de2','slow=2','release',X'73d8768ea94e5aded6ba86350c027fad','2026-11-23T07:35:29.000000000 01795419329674030057 449e1d5f-027e-4529-83ab-239906ff0250','449e1d5f-027e-4529-83ab-239906ff0250');
INSERT INTO latest_outcome VALUES(X'928736172b2919807c0ea21f16e1b36f',X'7686ac39030b9e5bcd7e33624aea2de2','','release',X'928736172b2919807c0ea21f16e1b36f','2026-11-23T07:35:30.000000000 01795419330871325611 78c87810-f0b3-48a0-88e6-bcc6747cafea','78c87810-f0b3-48a0-88e6-bcc6747cafea');
INSERT INTO latest_outcome VALUES(X'928736172b2919807c0ea21f16e1b36f',X'7686ac39030b9e5bcd7e33624aea2de2','slow=2','release',X'928736172b2919807c0ea21f16e1b36f','2026-11-23T07:35:29.000000000 01795419329674030057 449e1d5f-027e-4529-83ab-239906ff0250','449e1d5f-027e-4529-83ab-239906ff0250');
INSERT INTO latest_outcome VALUES(X'ca6444c13bf72e557aa1e6526aef5ca4',X'ec4053f81deb2fec5c36616603c9235a','max_logit=1','smoke',X'ca6444c13bf72e557aa1e6526aef5ca4','2026-11-28T22:51:21.000000000 01795906282009547375 431a4571-f1a6-4a21-9443-ec8c8198b959','431a4571-f1a6-4a21-9443-ec8c8198b959');
INSERT INTO latest_outcome VALUES(X'ec1a9a67ea376b30a4b60ad1749a1f6e',X'7686ac39030b9e5bcd7e33624aea2de2','','release',X'ec1a9a67ea376b30a4b60ad1749a1f6e','2026-11-23T07:35:30.000000000 01795419330871325611 78c87810-f0b3-48a0-88e6-bcc6747cafea','78c87810-f0b3-48a0-88e6-bcc6747cafea');
INSERT INTO latest_outcome VALUES(X'ec1a9a67ea376b30a4b60ad1749a1f6e',X'7686ac39030b9e5bcd7e33624aea2de2','slow=2','release',X'ec1a9a67ea376b30a4b60ad1749a1f6e','2026-11-23T07:35:29.000000000 01795419329674030057 449e1d5f-027e-4529-83ab-239906ff0250','449e1d5f-027e-4529-83ab-239906ff0250');
CREATE TABLE machine_class(
  machine_key BLOB NOT NULL PRIMARY KEY CHECK (length(machine_key) = 16),
  device_kind TEXT NOT NULL,
  machine_arch TEXT NOT NULL,
  model TEXT NOT NULL,
  memory_bytes INTEGER NOT NULL,
  clock_policy TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO machine_class VALUES(X'7686ac39030b9e5bcd7e33624aea2de2','cpu','x86-64-v3','Intel(R) Xeon(R) Processor',25769803776,'');
INSERT INTO machine_class VALUES(X'ec4053f81deb2fec5c36616603c9235a','cpu','x86-64-v3','AMD EPYC',25769803776,'');
CREATE TABLE meta(
  key TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES('views','');
CREATE TABLE night_event(
  event_key BLOB NOT NULL PRIMARY KEY CHECK (length(event_key) = 16),
  night_id TEXT NOT NULL CHECK (night_id <> ''),
  kind TEXT NOT NULL
    CHECK (kind IN ('opened', 'closed', 'suspect', 'measured again', 'set aside')),
  happened_at TEXT NOT NULL,
  who TEXT NOT NULL,
  detail TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO night_event VALUES(X'000102030405060708090a0b0c0d0e0f','2026-11-22','opened','2026-11-22T00:00:00Z','me','');
CREATE TABLE night_times(
  run_id TEXT NOT NULL REFERENCES run(run_id),
  machine_key BLOB NOT NULL REFERENCES machine_class(machine_key),
  series INTEGER NOT NULL,       -- timed series with enough of a past to be gated
  common_shift REAL NOT NULL,    -- relative, of all series together
  shift_limit REAL NOT NULL,
  suspect INTEGER NOT NULL,      -- none of the run's times is a baseline
  why TEXT NOT NULL,
  fresh INTEGER NOT NULL,        -- fresh processes asked about a candidate
  candidates INTEGER NOT NULL,
  confirmed INTEGER NOT NULL,
  expected_false_alerts REAL NOT NULL,
  second_pairs INTEGER NOT NULL,   -- cases measured twice
  second_alarms INTEGER NOT NULL,  -- of those, how many would have been a candidate
  load REAL NOT NULL,              -- the largest load average seen while timing
  UNIQUE (run_id, machine_key)
) STRICT;
INSERT INTO night_times VALUES('267d95b3-6d3c-49bc-8edf-d181502d9e5c',X'7686ac39030b9e5bcd7e33624aea2de2',1,0.0,0.010000000000000000208,0,'',3,0,0,0.0,0,0,0.5);
CREATE TABLE outcome(
  run_id TEXT NOT NULL REFERENCES run(run_id),
  case_key BLOB NOT NULL REFERENCES attention_case(case_key),
  suite TEXT NOT NULL,
  -- Copies of attention_case.series_key and run.run_order, so that one index holds each series in
  -- the order of time.
  series_key BLOB NOT NULL CHECK (length(series_key) = 16),
  run_order TEXT NOT NULL,
  build_key BLOB NOT NULL REFERENCES build(build_key),
  -- Of what the case ran on: a GPU is a machine class of its own (run.machine_key is that of the
  -- host).
  machine_key BLOB NOT NULL REFERENCES machine_class(machine_key),
  declared_spec_key BLOB NOT NULL REFERENCES rounding_spec(spec_key),
  judged_spec_key BLOB NOT NULL REFERENCES rounding_spec(spec_key),
  arch TEXT NOT NULL,
  judge_version INTEGER NOT NULL,  -- of the measurement; judging again does not change it
  reference_version INTEGER NOT NULL,
  inputs_version INTEGER NOT NULL,
  head_rms_max REAL CHECK ((head_rms_max IS NULL) = (length(head_rms) = 0)),
  head_rms_max_sample INTEGER CHECK ((head_rms_max_sample IS NULL) = (length(head_rms) = 0)),
  head_rms_max_head INTEGER CHECK ((head_rms_max_head IS NULL) = (length(head_rms) = 0)),

  case_group TEXT NOT NULL,
  tier TEXT NOT NULL,
  problem_digest TEXT NOT NULL,
  -- Of the kernel's provider, as given behind its file, '' for none: a part of the series' key.
  provider_options TEXT NOT NULL,
  status TEXT NOT NULL
    CHECK (status IN ('ok', 'unsupported', 'crashed', 'timeout', 'out_of_memory', 'error')),
  reason TEXT NOT NULL,
  tensor_cores TEXT NOT NULL,
  padding_policy TEXT NOT NULL,
  promise_run_to_run TEXT NOT NULL,
  promise_batch TEXT NOT NULL,
  promise_layout TEXT NOT NULL,
  promise_page TEXT NOT NULL,
  promise_split TEXT NOT NULL,
  promise_prefill_decode TEXT NOT NULL,
  promise_lse TEXT NOT NULL,
  registers_per_thread INTEGER,
  spill_bytes_per_thread INTEGER,
  shared_memory_bytes INTEGER,
  stack_bytes_per_thread INTEGER,
  -- The architecture that a kernel says it ran on, where its device's name leaves it open; '' else.
  device_arch TEXT NOT NULL,
  -- Of the GPU, as its worker tells it: '' and NULL on the host itself, or where the worker does
  -- not tell.
  device_model TEXT NOT NULL,
  device_memory_bytes INTEGER,
  device_driver TEXT NOT NULL,
  device_runtime TEXT NOT NULL,
  device_facts_arch TEXT NOT NULL,
  workspace_bytes INTEGER NOT NULL,
  -- errors, in units of sigma unless the name says otherwise; NULL unless status is ok
  elements INTEGER CHECK ((elements IS NOT NULL) = (status = 'ok')),
  peak REAL CHECK ((peak IS NOT NULL) = (status = 'ok')),
  beyond_output REAL CHECK ((beyond_output IS NOT NULL) = (status = 'ok')),
  rms REAL CHECK ((rms IS NOT NULL) = (status = 'ok')),
  bound REAL CHECK ((bound IS NOT NULL) = (status = 'ok')),
  max_abs REAL CHECK ((max_abs IS NOT NULL) = (status = 'ok')),
  max_rel REAL CHECK ((max_rel IS NOT NULL) = (status = 'ok')),
  mean_abs REAL CHECK ((mean_abs IS NOT NULL) = (status = 'ok')),
  max_ulp REAL CHECK ((max_ulp IS NOT NULL) = (status = 'ok')),
  outside_allclose_1e3 REAL CHECK ((outside_allclose_1e3 IS NOT NULL) = (status = 'ok')),
  outside_allclose_1e2 REAL CHECK ((outside_allclose_1e2 IS NOT NULL) = (status = 'ok')),
  has_lse INTEGER NOT NULL,
  lse_z REAL CHECK ((lse_z IS NOT NULL) = has_lse),
  lse_max_abs REAL CHECK ((lse_max_abs IS NOT NULL) = has_lse),
  -- whether rows have no reference; `elsewhere` is of these
  has_elsewhere INTEGER NOT NULL,
  elsewhere REAL CHECK ((elsewhere IS NOT NULL) = has_elsewhere),
  has_suite_scores INTEGER NOT NULL,
  shrink_z REAL CHECK ((shrink_z IS NOT NULL) = has_suite_scores),
  temperature_z REAL CHECK ((temperature_z IS NOT NULL) = has_suite_scores),
  faults_nan INTEGER NOT NULL,
  faults_inf INTEGER NOT NULL,
  faults_unwritten INTEGER NOT NULL,
  faults_out_of_range INTEGER NOT NULL,
  faults_padded_rows INTEGER NOT NULL,
  faults_empty_rows INTEGER NOT NULL,
  faults_inexact INTEGER NOT NULL,
  faults_fence_bytes INTEGER NOT NULL,
  faults_detail TEXT NOT NULL,
  worst_statistic TEXT NOT NULL,
  has_worst INTEGER NOT NULL,
  worst_sample INTEGER CHECK ((worst_sample IS NOT NULL) = has_worst),
  worst_head INTEGER CHECK ((worst_head IS NOT NULL) = has_worst),
  worst_row INTEGER CHECK ((worst_row IS NOT NULL) = has_worst),
  worst_column INTEGER CHECK ((worst_column IS NOT NULL) = has_worst),
  worst_got_is_nan INTEGER CHECK ((worst_got_is_nan IS NOT NULL) = has_worst),
  worst_got REAL CHECK ((worst_got IS NOT NULL) = has_worst),
  worst_expected REAL CHECK ((worst_expected IS NOT NULL) = has_worst),
  worst_sigma REAL CHECK ((worst_sigma IS NOT NULL) = has_worst),
  worst_ulp REAL CHECK ((worst_ulp IS NOT NULL) = has_worst),
  worst_share_p REAL CHECK ((worst_share_p IS NOT NULL) = has_worst),
  worst_share_logit REAL CHECK ((worst_share_logit IS NOT NULL) = has_worst),
  worst_share_s REAL CHECK ((worst_share_s IS NOT NULL) = has_worst),
  worst_share_exp2 REAL CHECK ((worst_share_exp2 IS NOT NULL) = has_worst),
  worst_share_accumulation REAL CHECK ((worst_share_accumulation IS NOT NULL) = has_worst),
  worst_share_split_partials REAL CHECK ((worst_share_split_partials IS NOT NULL) = has_worst),
  worst_share_output REAL CHECK ((worst_share_output IS NOT NULL) = has_worst),
  worst_visible_keys INTEGER CHECK ((worst_visible_keys IS NOT NULL) = has_worst),
  location_kind TEXT NOT NULL,
  location_description TEXT NOT NULL,
  location_z REAL NOT NULL,
  -- one sentence for people: what a failure is put down to; '' where nobody knows
  cause TEXT NOT NULL,
  -- the rung of the ladder that permits more and would explain the failure; '' if none does
  looser_rung TEXT NOT NULL,
  -- little-endian float32, (sample, head) row major
  head_rms BLOB NOT NULL CHECK (length(head_rms) % 4 = 0),
  -- What the errors look like (harness/outcome/error_picture.h), '' where nothing was compared:
  -- counts as little-endian uint32, the map a byte a part, row by row.
  error_histogram BLOB NOT NULL CHECK (length(error_histogram) IN (0, 4 * 41)),
  spre_ratios BLOB NOT NULL CHECK (length(spre_ratios) IN (0, 4 * 32)),
  error_map_rows INTEGER NOT NULL CHECK (error_map_rows BETWEEN 0 AND 16),
  error_map_columns INTEGER NOT NULL CHECK (error_map_columns BETWEEN 0 AND 16),
  error_map BLOB NOT NULL CHECK (length(error_map) = error_map_rows * error_map_columns),
  reference_rows INTEGER NOT NULL,
  rows_total INTEGER NOT NULL,
  -- of the rows that change from night to night; 0: none were compared
  row_seed INTEGER NOT NULL DEFAULT 0,
  widening REAL NOT NULL,
  output_digest TEXT NOT NULL,
  repeat_checked INTEGER NOT NULL,
  repeat_equal INTEGER NOT NULL,
  calls INTEGER NOT NULL,         -- untimed ones; 0: not known
  call_difference TEXT NOT NULL,  -- between them, in words; '' = none
  timed INTEGER NOT NULL,
  time_ns REAL CHECK ((time_ns IS NOT NULL) = timed),
  time_mad_ns REAL CHECK ((time_mad_ns IS NOT NULL) = timed),
  time_ratio REAL CHECK ((time_ratio IS NOT NULL) = timed),
  time_hot_ns REAL,           -- NULL unless timed on a GPU
  -- Every sample: [{"kernel_ns": […], …}, …], one object a worker process (harness/outcome/times.h)
  time_rounds TEXT NOT NULL CHECK (json_valid(time_rounds)),
  -- Ratios of the fresh processes that were asked about a candidate.
  fresh_ratios TEXT NOT NULL CHECK (json_valid(fresh_ratios)),
  time_cpu_ns REAL,
  time_sentinel_ns REAL,
  flops_per_second REAL,
  bytes_per_second REAL,
  flops_share REAL,
  bytes_share REAL,
  time_physics REAL,  -- the least time that any kernel needs over the one taken
  second_ratio REAL,  -- of a second measurement in the same night
  peak_memory_bytes INTEGER,  -- NULL unless timed
  wall_ms REAL NOT NULL,
  saved_to TEXT NOT NULL,
  -- The case whose outcome was taken over because a kernel without tensor cores gives the same bits
  -- on every architecture; '' where the case itself was measured.
  reused_from TEXT NOT NULL,
  -- What the suite expected of the case (its entry expect_failure); '' where it expected nothing.
  expected_issue TEXT NOT NULL,
  expected_expires TEXT NOT NULL,
  expected_reason TEXT NOT NULL,
  verdict TEXT NOT NULL REFERENCES verdict(verdict),
  percent_of_limit REAL NOT NULL,
  nearest_statistic TEXT NOT NULL,
  findings TEXT NOT NULL CHECK (json_valid(findings)),
  notes TEXT NOT NULL CHECK (json_valid(notes)),
  -- What the contract held the outcome to, up to 1e7 elements; NULL and '' where there was no
  -- contract to hold it to.
  limit_peak REAL,
  limit_beyond_output REAL,
  limit_rms REAL,
  limit_lse REAL,
  limit_elsewhere REAL,
  pinned_padding_policy TEXT NOT NULL,
  pinned_promises TEXT NOT NULL,
  -- Of a timed outcome, what its series took before: how many runs, and this time over their
  -- median.
  past_times INTEGER,
  time_over_past REAL,
  -- Whether fresh processes were asked about a regression: 'confirmed', 'refuted' or 'disagree'; ''
  -- where nobody could be asked.
  confirmation TEXT NOT NULL,
  -- What the gate concluded of the time, '' where it did not look; level and limit are ratios to
  -- the sentinel, spread and change relative.
  gate_finding TEXT NOT NULL,
  gate_nights INTEGER CHECK ((gate_nights IS NOT NULL) = (gate_finding <> '')),
  gate_pool INTEGER,
  gate_level REAL,
  gate_spread REAL,
  gate_limit REAL,
  gate_change REAL,
  gate_deviation REAL,

  faults_total INTEGER NOT NULL AS (
    faults_nan + faults_inf + faults_unwritten + faults_out_of_range + faults_padded_rows +
    faults_empty_rows + faults_inexact + faults_fence_bytes),
  UNIQUE (case_key, run_id, suite)
) STRICT;
INSERT INTO outcome VALUES('449e1d5f-027e-4529-83ab-239906ff0250',X'2346371ff7c9f711d847293707aa8208','release',X'2346371ff7c9f711d847293707aa8208','2026-11-23T07:35:29.000000000 01795419329674030057 449e1d5f-027e-4529-83ab-239906ff0250',X'8964ffd69d06df829a4319fd4467adef',X'7686ac39030b9e5bcd7e33624aea2de2',X'd449b89170876a044b52a3c938e3cf5a',X'd449b89170876a044b52a3c938e3cf5a','x86-64-v3',3,5,1,0.84604108333587646484,0,0,'plain','smoke','bf6eaae228e55f0c0bc2f349f39a93b0','slow=2','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',24704,320,2.2207588295586750959,1.8564990223141628611,0.84604106368094633694,0.48142389499418097864,0.003240240858873644214,3.5231088471263998229,0.00050516186694018452765,517.19831504345745542,0.037499999999999998612,0.0,1,0.18327634278706764203,1.8854702332760098215e-07,0,NULL,1,0.11694635756592579312,-0.097393854557330697407,0,0,0,0,0,0,0,0,'','peak',1,0,0,12,14,0,-0.251953125,-0.25049968389663684886,0.00065447948873043060302,0.001953125,0.2578583225299352355,7.4700841855361683877e-08,0.0,0.0,5.2232204950848562345e-09,0.0,0.74214159754600239615,20,'','',0.0,'','',X'2696583f',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',1,2,X'4142',20,20,0,1.0,'346db15ea5f076743991bb228728a821',1,1,3,'',0,NULL,NULL,NULL,NULL,'[{"kernel_ns":[2.0],"sentinel_ns":[1.0],"ratio":2.0}]','[2.0]',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,6.3304949999999999832,'','','','','','first_seen',62.669708420810835034,'rms','[]','[]',6.5,6.5,1.3500000000000000888,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'','',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO outcome VALUES('449e1d5f-027e-4529-83ab-239906ff0250',X'73d8768ea94e5aded6ba86350c027fad','release',X'73d8768ea94e5aded6ba86350c027fad','2026-11-23T07:35:29.000000000 01795419329674030057 449e1d5f-027e-4529-83ab-239906ff0250',X'8964ffd69d06df829a4319fd4467adef',X'7686ac39030b9e5bcd7e33624aea2de2',X'd449b89170876a044b52a3c938e3cf5a',X'd449b89170876a044b52a3c938e3cf5a','x86-64-v3',3,5,1,0.84604108333587646484,0,0,'plain','smoke','7e27daf32dcdb72dbc1e09021d398def','slow=2','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',24704,320,2.2207588295586750959,1.8564990223141628611,0.84604106368094633694,0.48142389499418097864,0.003240240858873644214,3.5231088471263998229,0.00050516186694018452765,517.19831504345745542,0.037499999999999998612,0.0,1,0.18327634278706764203,1.8854702332760098215e-07,0,NULL,1,0.11694635756592579312,-0.097393854557330697407,0,0,0,0,0,0,0,0,'','peak',1,0,0,12,14,0,-0.251953125,-0.25049968389663684886,0.00065447948873043060302,0.001953125,0.2578583225299352355,7.4700841855361683877e-08,0.0,0.0,5.2232204950848562345e-09,0.0,0.74214159754600239615,20,'','',0.0,'','',X'2696583f',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',1,2,X'4142',20,20,0,1.0,'346db15ea5f076743991bb228728a821',1,1,3,'',0,NULL,NULL,NULL,NULL,'[{"kernel_ns":[2.0],"sentinel_ns":[1.0],"ratio":2.0}]','[2.0]',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,6.392712000000000394,'','','','','','first_seen',62.669708420810835034,'rms','[]','[]',6.5,6.5,1.3500000000000000888,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'','',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO outcome VALUES('449e1d5f-027e-4529-83ab-239906ff0250',X'343aefb2cea0184fd6365be178e51481','release',X'343aefb2cea0184fd6365be178e51481','2026-11-23T07:35:29.000000000 01795419329674030057 449e1d5f-027e-4529-83ab-239906ff0250',X'047558da961da67f6163b0004b0f5806',X'7686ac39030b9e5bcd7e33624aea2de2',X'd449b89170876a044b52a3c938e3cf5a',X'd449b89170876a044b52a3c938e3cf5a','x86-64-v3',3,5,1,0.84604108333587646484,0,0,'tiles','smoke','bf6eaae228e55f0c0bc2f349f39a93b0','slow=2','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',16512,320,2.2207588295586750959,1.8564990223141628611,0.84604106368094633694,0.48142389499418097864,0.003240240858873644214,3.5231088471263998229,0.00050516186694018452765,517.19831504345745542,0.037499999999999998612,0.0,1,0.18327634278706764203,1.8854702332760098215e-07,0,NULL,1,0.11694635756592579312,-0.097393854557330697407,0,0,0,0,0,0,0,0,'','peak',1,0,0,12,14,0,-0.251953125,-0.25049968389663684886,0.00065447948873043060302,0.001953125,0.2578583225299352355,7.4700841855361683877e-08,0.0,0.0,5.2232204950848562345e-09,0.0,0.74214159754600239615,20,'','',0.0,'','',X'2696583f',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',1,2,X'4142',20,20,0,1.0,'346db15ea5f076743991bb228728a821',1,1,3,'',0,NULL,NULL,NULL,NULL,'[{"kernel_ns":[2.0],"sentinel_ns":[1.0],"ratio":2.0}]','[2.0]',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0.57130000000000003002,'','','','','','first_seen',62.669708420810835034,'rms','[]','[]',6.5,6.5,1.3500000000000000888,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'','',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO outcome VALUES('449e1d5f-027e-4529-83ab-239906ff0250',X'ec1a9a67ea376b30a4b60ad1749a1f6e','release',X'ec1a9a67ea376b30a4b60ad1749a1f6e','2026-11-23T07:35:29.000000000 01795419329674030057 449e1d5f-027e-4529-83ab-239906ff0250',X'79652e701749534fb8c227502150a7f3',X'7686ac39030b9e5bcd7e33624aea2de2',X'3b80121ade874a07ad873a16966f7620',X'3b80121ade874a07ad873a16966f7620','x86-64-v3',3,5,1,1.2479987144470214843,1,0,'merge','smoke','4fdde447da5dc9f50242db6f5b00ec78','slow=2','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',128,32,1.7203953776057832047,0.0,1.1749504388630185314,0.99272987495915454569,0.0036983879081438075786,0.0036060439961571539094,0.00096466693040528253121,0.49663540954469453936,0.15625,0.0,1,0.18154451711847080508,1.6910181077633978929e-07,0,NULL,0,NULL,NULL,0,0,0,0,0,0,0,0,'','peak',1,1,0,0,4,0,-0.93359375,-0.93165376793146603695,0.0011276373406872153282,0.00390625,8.1869321323070631344e-10,1.5448294776181461743e-08,0.0,0.0,8.1361684210143596232e-08,0.0,0.9999999023713277424,3,'','',0.0,'','',X'196c8c3f6cbe9f3f',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',1,2,X'4142',2,2,0,1.0,'d7f53b157c24261858d43d51afdc9409',1,1,3,'',0,NULL,NULL,NULL,NULL,'[{"kernel_ns":[2.0],"sentinel_ns":[1.0],"ratio":2.0}]','[2.0]',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,2.8239119999999999777,'','','','','','first_seen',30.770941588079644191,'rms','[]','[]',6.5,6.5,3.8183766184073570926,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, lse=bitwise',NULL,NULL,'','',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO outcome VALUES('449e1d5f-027e-4529-83ab-239906ff0250',X'4db5b780562bad597c8d19a4ac3268d1','release',X'4db5b780562bad597c8d19a4ac3268d1','2026-11-23T07:35:29.000000000 01795419329674030057 449e1d5f-027e-4529-83ab-239906ff0250',X'880b2ce3182d3a423cdb3b96e3f226c2',X'7686ac39030b9e5bcd7e33624aea2de2',X'f7170cc453c45f370c2c707721aeed77',X'57846c9a1f9296d57a77bc1fa6dfa508','x86-64-v3',3,5,1,NULL,NULL,NULL,'vanishes','smoke','417b662388a47f40bc9421d2a66b3274','slow=2','unsupported','FlashAttention only supports fp16 and bf16 (got fp32)','none','zeros','none','none','none','none','none','none','none',NULL,NULL,NULL,NULL,'','',NULL,'','','',0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,0,NULL,0,NULL,NULL,0,0,0,0,0,0,0,0,'','',0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'','',0.0,'','',X'',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',1,2,X'4142',0,0,0,1.0,'',0,0,3,'',0,NULL,NULL,NULL,NULL,'[{"kernel_ns":[2.0],"sentinel_ns":[1.0],"ratio":2.0}]','[2.0]',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0.34139599999999997725,'','','','','','unsupported',0.0,'','[]','["unsupported: FlashAttention only supports fp16 and bf16 (got fp32)"]',6.5,6.5,1.8000000000000000444,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'','',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO outcome VALUES('449e1d5f-027e-4529-83ab-239906ff0250',X'928736172b2919807c0ea21f16e1b36f','release',X'928736172b2919807c0ea21f16e1b36f','2026-11-23T07:35:29.000000000 01795419329674030057 449e1d5f-027e-4529-83ab-239906ff0250',X'8964ffd69d06df829a4319fd4467adef',X'7686ac39030b9e5bcd7e33624aea2de2',X'd449b89170876a044b52a3c938e3cf5a',X'd449b89170876a044b52a3c938e3cf5a','x86-64-v3',3,5,1,0.93896889686584472656,0,0,'long','smoke','755b257d30b4674eec86c09f5b1f6d19','slow=2','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',24704,704,2.6598751457672520359,2.2674237858938273149,0.93896884763558474684,0.18758168465637845012,0.0008330459044973981264,0.23941539791460050845,0.0001179695936421677803,33.20909259895103105,0.0,0.0,1,0.078972318967757942909,3.015495044778049305e-07,1,1.9821894665494566023,0,NULL,NULL,0,0,0,0,0,0,0,0,'','peak',1,0,0,54,8,0,0.0211181640625,0.021357331429340056794,8.9916764409281313419e-05,0.0001220703125,0.84641101648116079392,6.2274400618715060914e-07,0.0,0.0,2.7016854336610256741e-07,0.0,0.15358809060628961229,700,'','',0.0,'','',X'4460703f',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',1,2,X'4142',44,700,20261123,1.0,'21b6886b1a865cc9623d95f84e2a52b4',1,1,3,'',0,NULL,NULL,NULL,NULL,'[{"kernel_ns":[2.0],"sentinel_ns":[1.0],"ratio":2.0}]','[2.0]',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,24.094553000000001219,'','','','','','first_seen',69.553247973006278926,'rms','[]','["44 of 700 rows were compared with the reference; faults were looked for in all"]',6.5,6.5,1.3500000000000000888,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'','',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO outcome VALUES('688b6ba9-f0ba-40e9-9b50-e100213e9a87',X'2346371ff7c9f711d847293707aa8208','release',X'2346371ff7c9f711d847293707aa8208','2026-11-23T07:35:29.000000000 01795419329793241441 688b6ba9-f0ba-40e9-9b50-e100213e9a87',X'a29e06817e28da864e6ab1b75ad19d16',X'7686ac39030b9e5bcd7e33624aea2de2',X'd449b89170876a044b52a3c938e3cf5a',X'd449b89170876a044b52a3c938e3cf5a','x86-64-v3',3,5,1,0.84604108333587646484,0,0,'plain','smoke','bf6eaae228e55f0c0bc2f349f39a93b0','','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',24704,320,2.2207588295586750959,1.8564990223141628611,0.84604106368094633694,0.48142389499418097864,0.003240240858873644214,3.5231088471263998229,0.00050516186694018452765,517.19831504345745542,0.037499999999999998612,0.0,1,0.18327634278706764203,1.8854702332760098215e-07,0,NULL,1,0.11694635756592579312,-0.097393854557330697407,0,0,0,0,0,0,0,0,'','peak',1,0,0,12,14,0,-0.251953125,-0.25049968389663684886,0.00065447948873043060302,0.001953125,0.2578583225299352355,7.4700841855361683877e-08,0.0,0.0,5.2232204950848562345e-09,0.0,0.74214159754600239615,20,'','',0.0,'','',X'2696583f',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',1,2,X'4142',20,20,0,1.0,'346db15ea5f076743991bb228728a821',1,1,3,'',0,NULL,NULL,NULL,NULL,'[{"kernel_ns":[2.0],"sentinel_ns":[1.0],"ratio":2.0}]','[2.0]',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,3.795818999999999832,'','','','','','first_seen',62.669708420810835034,'rms','[]','[]',6.5,6.5,1.3500000000000000888,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'','',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO outcome VALUES('688b6ba9-f0ba-40e9-9b50-e100213e9a87',X'73d8768ea94e5aded6ba86350c027fad','release',X'73d8768ea94e5aded6ba86350c027fad','2026-11-23T07:35:29.000000000 01795419329793241441 688b6ba9-f0ba-40e9-9b50-e100213e9a87',X'a29e06817e28da864e6ab1b75ad19d16',X'7686ac39030b9e5bcd7e33624aea2de2',X'd449b89170876a044b52a3c938e3cf5a',X'd449b89170876a044b52a3c938e3cf5a','x86-64-v3',3,5,1,0.84604108333587646484,0,0,'plain','smoke','7e27daf32dcdb72dbc1e09021d398def','','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',24704,320,2.2207588295586750959,1.8564990223141628611,0.84604106368094633694,0.48142389499418097864,0.003240240858873644214,3.5231088471263998229,0.00050516186694018452765,517.19831504345745542,0.037499999999999998612,0.0,1,0.18327634278706764203,1.8854702332760098215e-07,0,NULL,1,0.11694635756592579312,-0.097393854557330697407,0,0,0,0,0,0,0,0,'','peak',1,0,0,12,14,0,-0.251953125,-0.25049968389663684886,0.00065447948873043060302,0.001953125,0.2578583225299352355,7.4700841855361683877e-08,0.0,0.0,5.2232204950848562345e-09,0.0,0.74214159754600239615,20,'','',0.0,'','',X'2696583f',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',1,2,X'4142',20,20,0,1.0,'346db15ea5f076743991bb228728a821',1,1,3,'',0,NULL,NULL,NULL,NULL,'[{"kernel_ns":[2.0],"sentinel_ns":[1.0],"ratio":2.0}]','[2.0]',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,3.789477999999999902,'','','','','','first_seen',62.669708420810835034,'rms','[]','[]',6.5,6.5,1.3500000000000000888,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'','',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO outcome VALUES('688b6ba9-f0ba-40e9-9b50-e100213e9a87',X'343aefb2cea0184fd6365be178e51481','release',X'343aefb2cea0184fd6365be178e51481','2026-11-23T07:35:29.000000000 01795419329793241441 688b6ba9-f0ba-40e9-9b50-e100213e9a87',X'3a40aff64e9453c2cc88e36b4d66bd89',X'7686ac39030b9e5bcd7e33624aea2de2',X'd449b89170876a044b52a3c938e3cf5a',X'd449b89170876a044b52a3c938e3cf5a','x86-64-v3',3,5,1,0.84604108333587646484,0,0,'tiles','smoke','bf6eaae228e55f0c0bc2f349f39a93b0','','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',16512,320,2.2207588295586750959,1.8564990223141628611,0.84604106368094633694,0.48142389499418097864,0.003240240858873644214,3.5231088471263998229,0.00050516186694018452765,517.19831504345745542,0.037499999999999998612,0.0,1,0.18327634278706764203,1.8854702332760098215e-07,0,NULL,1,0.11694635756592579312,-0.097393854557330697407,0,0,0,0,0,0,0,0,'','peak',1,0,0,12,14,0,-0.251953125,-0.25049968389663684886,0.00065447948873043060302,0.001953125,0.2578583225299352355,7.4700841855361683877e-08,0.0,0.0,5.2232204950848562345e-09,0.0,0.74214159754600239615,20,'','',0.0,'','',X'2696583f',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',1,2,X'4142',20,20,0,1.0,'346db15ea5f076743991bb228728a821',1,1,3,'',0,NULL,NULL,NULL,NULL,'[{"kernel_ns":[2.0],"sentinel_ns":[1.0],"ratio":2.0}]','[2.0]',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0.61440799999999995417,'','','','','','first_seen',62.669708420810835034,'rms','[]','[]',6.5,6.5,1.3500000000000000888,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'','',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO outcome VALUES('688b6ba9-f0ba-40e9-9b50-e100213e9a87',X'ec1a9a67ea376b30a4b60ad1749a1f6e','release',X'ec1a9a67ea376b30a4b60ad1749a1f6e','2026-11-23T07:35:29.000000000 01795419329793241441 688b6ba9-f0ba-40e9-9b50-e100213e9a87',X'1e2fb89fa6c7b7f46113fd38eb0ecc79',X'7686ac39030b9e5bcd7e33624aea2de2',X'3b80121ade874a07ad873a16966f7620',X'3b80121ade874a07ad873a16966f7620','x86-64-v3',3,5,1,1.2479987144470214843,1,0,'merge','smoke','4fdde447da5dc9f50242db6f5b00ec78','','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',128,32,1.7203953776057832047,0.0,1.1749504388630185314,0.99272987495915454569,0.0036983879081438075786,0.0036060439961571539094,0.00096466693040528253121,0.49663540954469453936,0.15625,0.0,1,0.18154451711847080508,1.6910181077633978929e-07,0,NULL,0,NULL,NULL,0,0,0,0,0,0,0,0,'','peak',1,1,0,0,4,0,-0.93359375,-0.93165376793146603695,0.0011276373406872153282,0.00390625,8.1869321323070631344e-10,1.5448294776181461743e-08,0.0,0.0,8.1361684210143596232e-08,0.0,0.9999999023713277424,3,'','',0.0,'','',X'196c8c3f6cbe9f3f',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',1,2,X'4142',2,2,0,1.0,'d7f53b157c24261858d43d51afdc9409',1,1,3,'',0,NULL,NULL,NULL,NULL,'[{"kernel_ns":[2.0],"sentinel_ns":[1.0],"ratio":2.0}]','[2.0]',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0.76909400000000005537,'','','','','','first_seen',30.770941588079644191,'rms','[]','[]',6.5,6.5,3.8183766184073570926,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, lse=bitwise',NULL,NULL,'','',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO outcome VALUES('688b6ba9-f0ba-40e9-9b50-e100213e9a87',X'4db5b780562bad597c8d19a4ac3268d1','release',X'4db5b780562bad597c8d19a4ac3268d1','2026-11-23T07:35:29.000000000 01795419329793241441 688b6ba9-f0ba-40e9-9b50-e100213e9a87',X'880b2ce3182d3a423cdb3b96e3f226c2',X'7686ac39030b9e5bcd7e33624aea2de2',X'f7170cc453c45f370c2c707721aeed77',X'57846c9a1f9296d57a77bc1fa6dfa508','x86-64-v3',3,5,1,NULL,NULL,NULL,'vanishes','smoke','417b662388a47f40bc9421d2a66b3274','','unsupported','FlashAttention only supports fp16 and bf16 (got fp32)','none','zeros','none','none','none','none','none','none','none',NULL,NULL,NULL,NULL,'','',NULL,'','','',0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,0,NULL,0,NULL,NULL,0,0,0,0,0,0,0,0,'','',0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'','',0.0,'','',X'',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',1,2,X'4142',0,0,0,1.0,'',0,0,3,'',0,NULL,NULL,NULL,NULL,'[{"kernel_ns":[2.0],"sentinel_ns":[1.0],"ratio":2.0}]','[2.0]',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0.21238899999999999446,'','','','','','unsupported',0.0,'','[]','["unsupported: FlashAttention only supports fp16 and bf16 (got fp32)"]',6.5,6.5,1.8000000000000000444,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'','',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO outcome VALUES('688b6ba9-f0ba-40e9-9b50-e100213e9a87',X'928736172b2919807c0ea21f16e1b36f','release',X'928736172b2919807c0ea21f16e1b36f','2026-11-23T07:35:29.000000000 01795419329793241441 688b6ba9-f0ba-40e9-9b50-e100213e9a87',X'a29e06817e28da864e6ab1b75ad19d16',X'7686ac39030b9e5bcd7e33624aea2de2',X'd449b89170876a044b52a3c938e3cf5a',X'd449b89170876a044b52a3c938e3cf5a','x86-64-v3',3,5,1,0.93421894311904907226,0,0,'long','smoke','755b257d30b4674eec86c09f5b1f6d19','','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',24704,11200,3.6018340102949437664,3.592480055858528587,0.93421881918726823457,0.30387728021994775406,0.0018170066783594895909,24.517096094511135362,0.00010712419937819033519,6272.1715163895860314,8.9285714285714285632e-05,0.0,1,0.10007087462072794536,3.8143237368615245941e-07,0,NULL,0,NULL,NULL,0,0,0,0,0,0,0,0,'','peak',1,0,0,456,6,0,-8.165836334228515625e-06,-0.0003733143145862056339,0.00010137848585145547986,1.9073486328125e-06,0.9999697205163891045,4.7915030448523334895e-07,0.0,0.0,3.0268237236660330707e-07,0.0,2.9497650933967998008e-05,700,'','',0.0,'','',X'f9286f3f',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',1,2,X'4142',700,700,0,1.0,'21b6886b1a865cc9623d95f84e2a52b4',1,1,3,'',0,NULL,NULL,NULL,NULL,'[{"kernel_ns":[2.0],"sentinel_ns":[1.0],"ratio":2.0}]','[2.0]',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,11.977792000000000883,'','','','','','first_seen',69.201394013871720288,'rms','[]','[]',6.5,6.5,1.3500000000000000888,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'','',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO outcome VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',X'2346371ff7c9f711d847293707aa8208','release',X'2346371ff7c9f711d847293707aa8208','2026-11-23T07:35:30.000000000 01795419330871325611 78c87810-f0b3-48a0-88e6-bcc6747cafea',X'a29e06817e28da864e6ab1b75ad19d16',X'7686ac39030b9e5bcd7e33624aea2de2',X'd449b89170876a044b52a3c938e3cf5a',X'd449b89170876a044b52a3c938e3cf5a','x86-64-v3',3,5,1,0.84604108333587646484,0,0,'plain','smoke','bf6eaae228e55f0c0bc2f349f39a93b0','','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',24704,320,2.2207588295586750959,1.8564990223141628611,0.84604106368094633694,0.48142389499418097864,0.003240240858873644214,3.5231088471263998229,0.00050516186694018452765,517.19831504345745542,0.037499999999999998612,0.0,1,0.18327634278706764203,1.8854702332760098215e-07,0,NULL,1,0.11694635756592579312,-0.097393854557330697407,0,0,0,0,0,0,0,0,'','peak',1,0,0,12,14,0,-0.251953125,-0.25049968389663684886,0.00065447948873043060302,0.001953125,0.2578583225299352355,7.4700841855361683877e-08,0.0,0.0,5.2232204950848562345e-09,0.0,0.74214159754600239615,20,'','',0.0,'','',X'2696583f',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',1,2,X'4142',20,20,0,1.0,'346db15ea5f076743991bb228728a821',1,1,3,'',0,NULL,NULL,NULL,NULL,'[{"kernel_ns":[2.0],"sentinel_ns":[1.0],"ratio":2.0}]','[2.0]',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,3.7973150000000002179,'','','','','','pass',62.669708420810835034,'rms','[]','[]',6.5,6.5,1.3500000000000000888,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'','',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO outcome VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',X'73d8768ea94e5aded6ba86350c027fad','release',X'73d8768ea94e5aded6ba86350c027fad','2026-11-23T07:35:30.000000000 01795419330871325611 78c87810-f0b3-48a0-88e6-bcc6747cafea',X'a29e06817e28da864e6ab1b75ad19d16',X'7686ac39030b9e5bcd7e33624aea2de2',X'd449b89170876a044b52a3c938e3cf5a',X'd449b89170876a044b52a3c938e3cf5a','x86-64-v3',3,5,1,0.84604108333587646484,0,0,'plain','smoke','7e27daf32dcdb72dbc1e09021d398def','','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',24704,320,2.2207588295586750959,1.8564990223141628611,0.84604106368094633694,0.48142389499418097864,0.003240240858873644214,3.5231088471263998229,0.00050516186694018452765,517.19831504345745542,0.037499999999999998612,0.0,1,0.18327634278706764203,1.8854702332760098215e-07,0,NULL,1,0.11694635756592579312,-0.097393854557330697407,0,0,0,0,0,0,0,0,'','peak',1,0,0,12,14,0,-0.251953125,-0.25049968389663684886,0.00065447948873043060302,0.001953125,0.2578583225299352355,7.4700841855361683877e-08,0.0,0.0,5.2232204950848562345e-09,0.0,0.74214159754600239615,20,'','',0.0,'','',X'2696583f',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',1,2,X'4142',20,20,0,1.0,'346db15ea5f076743991bb228728a821',1,1,3,'',0,NULL,NULL,NULL,NULL,'[{"kernel_ns":[2.0],"sentinel_ns":[1.0],"ratio":2.0}]','[2.0]',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,4.4994490000000002538,'','','','','','pass',62.669708420810835034,'rms','[]','[]',6.5,6.5,1.3500000000000000888,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'','',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO outcome VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',X'343aefb2cea0184fd6365be178e51481','release',X'343aefb2cea0184fd6365be178e51481','2026-11-23T07:35:30.000000000 01795419330871325611 78c87810-f0b3-48a0-88e6-bcc6747cafea',X'3a40aff64e9453c2cc88e36b4d66bd89',X'7686ac39030b9e5bcd7e33624aea2de2',X'd449b89170876a044b52a3c938e3cf5a',X'd449b89170876a044b52a3c938e3cf5a','x86-64-v3',3,5,1,0.84604108333587646484,0,0,'tiles','smoke','bf6eaae228e55f0c0bc2f349f39a93b0','','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',16512,320,2.2207588295586750959,1.8564990223141628611,0.84604106368094633694,0.48142389499418097864,0.003240240858873644214,3.5231088471263998229,0.00050516186694018452765,517.19831504345745542,0.037499999999999998612,0.0,1,0.18327634278706764203,1.8854702332760098215e-07,0,NULL,1,0.11694635756592579312,-0.097393854557330697407,0,0,0,0,0,0,0,0,'','peak',1,0,0,12,14,0,-0.251953125,-0.25049968389663684886,0.00065447948873043060302,0.001953125,0.2578583225299352355,7.4700841855361683877e-08,0.0,0.0,5.2232204950848562345e-09,0.0,0.74214159754600239615,20,'','',0.0,'','',X'2696583f',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',1,2,X'4142',20,20,0,1.0,'346db15ea5f076743991bb228728a821',1,1,3,'',0,NULL,NULL,NULL,NULL,'[{"kernel_ns":[2.0],"sentinel_ns":[1.0],"ratio":2.0}]','[2.0]',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0.57836500000000001797,'','','','','','pass',62.669708420810835034,'rms','[]','[]',6.5,6.5,1.3500000000000000888,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'','',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO outcome VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',X'ec1a9a67ea376b30a4b60ad1749a1f6e','release',X'ec1a9a67ea376b30a4b60ad1749a1f6e','2026-11-23T07:35:30.000000000 01795419330871325611 78c87810-f0b3-48a0-88e6-bcc6747cafea',X'1e2fb89fa6c7b7f46113fd38eb0ecc79',X'7686ac39030b9e5bcd7e33624aea2de2',X'3b80121ade874a07ad873a16966f7620',X'3b80121ade874a07ad873a16966f7620','x86-64-v3',3,5,1,1.2479987144470214843,1,0,'merge','smoke','4fdde447da5dc9f50242db6f5b00ec78','','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',128,32,1.7203953776057832047,0.0,1.1749504388630185314,0.99272987495915454569,0.0036983879081438075786,0.0036060439961571539094,0.00096466693040528253121,0.49663540954469453936,0.15625,0.0,1,0.18154451711847080508,1.6910181077633978929e-07,0,NULL,0,NULL,NULL,0,0,0,0,0,0,0,0,'','peak',1,1,0,0,4,0,-0.93359375,-0.93165376793146603695,0.0011276373406872153282,0.00390625,8.1869321323070631344e-10,1.5448294776181461743e-08,0.0,0.0,8.1361684210143596232e-08,0.0,0.9999999023713277424,3,'','',0.0,'','',X'196c8c3f6cbe9f3f',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',1,2,X'4142',2,2,0,1.0,'d7f53b157c24261858d43d51afdc9409',1,1,3,'',0,NULL,NULL,NULL,NULL,'[{"kernel_ns":[2.0],"sentinel_ns":[1.0],"ratio":2.0}]','[2.0]',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0.71382599999999996054,'','','','','','pass',30.770941588079644191,'rms','[]','[]',6.5,6.5,3.8183766184073570926,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, lse=bitwise',NULL,NULL,'','',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO outcome VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',X'928736172b2919807c0ea21f16e1b36f','release',X'928736172b2919807c0ea21f16e1b36f','2026-11-23T07:35:30.000000000 01795419330871325611 78c87810-f0b3-48a0-88e6-bcc6747cafea',X'a29e06817e28da864e6ab1b75ad19d16',X'7686ac39030b9e5bcd7e33624aea2de2',X'd449b89170876a044b52a3c938e3cf5a',X'd449b89170876a044b52a3c938e3cf5a','x86-64-v3',3,5,1,0.93421894311904907226,0,0,'long','smoke','755b257d30b4674eec86c09f5b1f6d19','','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',24704,11200,3.6018340102949437664,3.592480055858528587,0.93421881918726823457,0.30387728021994775406,0.0018170066783594895909,24.517096094511135362,0.00010712419937819033519,6272.1715163895860314,8.9285714285714285632e-05,0.0,1,0.10007087462072794536,3.8143237368615245941e-07,0,NULL,0,NULL,NULL,0,0,0,0,0,0,0,0,'','peak',1,0,0,456,6,0,-8.165836334228515625e-06,-0.0003733143145862056339,0.00010137848585145547986,1.9073486328125e-06,0.9999697205163891045,4.7915030448523334895e-07,0.0,0.0,3.0268237236660330707e-07,0.0,2.9497650933967998008e-05,700,'','',0.0,'','',X'f9286f3f',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',1,2,X'4142',700,700,0,1.0,'21b6886b1a865cc9623d95f84e2a52b4',1,1,3,'',0,NULL,NULL,NULL,NULL,'[{"kernel_ns":[2.0],"sentinel_ns":[1.0],"ratio":2.0}]','[2.0]',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,17.044892999999998294,'','','','','','pass',69.201394013871720288,'rms','[]','[]',6.5,6.5,1.3500000000000000888,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'','',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
INSERT INTO outcome VALUES('431a4571-f1a6-4a21-9443-ec8c8198b959',X'ca6444c13bf72e557aa1e6526aef5ca4','smoke',X'ca6444c13bf72e557aa1e6526aef5ca4','2026-11-28T22:51:21.000000000 01795906282009547375 431a4571-f1a6-4a21-9443-ec8c8198b959',X'8f6d2eb95c09aa88fde9210b76c51cc5',X'ec4053f81deb2fec5c36616603c9235a',X'59c3b19bd8258a66aef685445d09c1ff',X'59c3b19bd8258a66aef685445d09c1ff','x86-64-v3',4,6,1,0.74904322624206542968,0,5,'dense','smoke','bf8e44b2b36fb635d95f4c8dad61291b','max_logit=1','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',68992,8704,2.5078768939137976445,1.8632684489089985646,0.6936243606567455977,0.41437167156850829297,0.00071713574913118138809,2.0880574455879985507,8.4817176812824985688e-05,3224.8023925810985019,0.0,0.0,1,1.0008947607974472138,0.00034521865369274706836,0,NULL,0,NULL,NULL,0,0,0,0,0,0,0,0,'','peak',1,0,3,3,5,0,0.51220703125,0.51174157688502830421,0.00018559697491582483053,0.00048828125,0.11158011272631039589,5.030907104261279507e-07,0.31163011493106940186,0.0,1.8495982368255876601e-07,0.0,0.57678908429208608499,20,'','',0.0,'','',X'c485343f67562c3fc129283fde9e2a3fc1f9373f4cc13f3f26f1283f8ac5363f',X'000000000000000000000000000000000000000000000000000000000000000000000000000000000000000001000000150000002a00000094000000f6000000c8010000ce020000de03000070040000b20400005f040000d1030000ce020000c50100001d010000760000003300000011000000050000000100000000000000000000000000000000000000000000000000000000000000000000000000000000000000',X'0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000010000000300000005000000110000000c000000120000001a0000002b00000036000000480000006c0000006f00000094000000e50000001101000065010000bf010000630200003d03000053050000890f0000',16,16,X'4d4c4f4f4f4c4a5551534c4c4e53524c475047514d494a4a4c494f494a4b4e485156515050484b4f444f47494e4c464a4e4d4e4c494a4a44454949424b4a484548454b49495042494445454f4c464651524c524b464e5048484c4c4c534a4c49494b4d494a464e4a464b484d4e4a4e4e4e4b4a504e514a4a4a4b494b4b504c4d4848474d4b494a504d4b4249464b454a4b524c4a51444d4f4f524e4d45444d4c51504a51534c4b484b464b4c504e51504a45464a4a4c4f49474e42484649495149454c474a4a5145514b4047514d48474d4f4a4c4c48534c4c504f4f4f4f4b4650514b4a4b4a4c484b4b454c464d4d4c4a4a404b4f4c4d4d4d4c4c4f4751504f',136,136,0,1.0,'35ae90515b616bff81acd0e8afecaf45',1,1,3,'',0,NULL,NULL,NULL,NULL,'[]','[]',NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,27.154185999999999267,'','','','','','first_seen',34.681218032837278996,'rms','[]','[]',8.0,8.0,2.0,8.0,24.0,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'','',NULL,NULL,NULL,NULL,NULL,NULL,NULL);
CREATE TABLE pin(
  pin_key BLOB NOT NULL PRIMARY KEY CHECK (length(pin_key) = 16),
  run_id TEXT NOT NULL REFERENCES run(run_id),
  case_glob TEXT NOT NULL,
  pinned_by TEXT NOT NULL CHECK (pinned_by <> ''),
  reason TEXT NOT NULL CHECK (reason <> ''),
  pinned_at TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO pin VALUES(X'310258a9cd777d7bdfb635e41b6361be','78c87810-f0b3-48a0-88e6-bcc6747cafea','*','somebody','a release','2026-11-23T07:35:52.543Z');
INSERT INTO pin VALUES(X'abe1585689253956bad802b97d1e31f4','78c87810-f0b3-48a0-88e6-bcc6747cafea','*','somebody','a release','2026-11-23T07:35:52.517Z');
CREATE TABLE pinned_case(
  run_id TEXT NOT NULL,
  case_key BLOB NOT NULL REFERENCES attention_case(case_key),
  pin_key BLOB NOT NULL REFERENCES pin(pin_key),
  PRIMARY KEY (case_key, run_id, pin_key)
) STRICT, WITHOUT ROWID;
INSERT INTO pinned_case VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',X'2346371ff7c9f711d847293707aa8208',X'310258a9cd777d7bdfb635e41b6361be');
INSERT INTO pinned_case VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',X'2346371ff7c9f711d847293707aa8208',X'abe1585689253956bad802b97d1e31f4');
INSERT INTO pinned_case VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',X'343aefb2cea0184fd6365be178e51481',X'310258a9cd777d7bdfb635e41b6361be');
INSERT INTO pinned_case VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',X'343aefb2cea0184fd6365be178e51481',X'abe1585689253956bad802b97d1e31f4');
INSERT INTO pinned_case VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',X'73d8768ea94e5aded6ba86350c027fad',X'310258a9cd777d7bdfb635e41b6361be');
INSERT INTO pinned_case VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',X'73d8768ea94e5aded6ba86350c027fad',X'abe1585689253956bad802b97d1e31f4');
INSERT INTO pinned_case VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',X'928736172b2919807c0ea21f16e1b36f',X'310258a9cd777d7bdfb635e41b6361be');
INSERT INTO pinned_case VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',X'928736172b2919807c0ea21f16e1b36f',X'abe1585689253956bad802b97d1e31f4');
INSERT INTO pinned_case VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',X'ec1a9a67ea376b30a4b60ad1749a1f6e',X'310258a9cd777d7bdfb635e41b6361be');
INSERT INTO pinned_case VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',X'ec1a9a67ea376b30a4b60ad1749a1f6e',X'abe1585689253956bad802b97d1e31f4');
CREATE TABLE rounding_spec(
  spec_key BLOB NOT NULL PRIMARY KEY CHECK (length(spec_key) = 16),
  spec TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO rounding_spec VALUES(X'3b80121ade874a07ad873a16966f7620','p_dtype=fp32 p_prescale=1 p_normalized=false p_max=running p_toward_zero=false denominator_from_rounded_p=false s_rounded=none s_rounded_twice=false q_prescaled=none q_prescaled_without_log2e=false split_partial_dtype=fp32 o_between_tiles=none qk_accumulator=fp32/nearest/24/1 pv_accumulator=fp32/nearest/24/1 exp2_rel_error=0 tanh_rel_error=0 reciprocal_rel_error=0 kv_dequantized_to=none out_dtype=bf16 out_toward_zero=false lse_dtype=none lse_base=e lse_includes_sink=true');
INSERT INTO rounding_spec VALUES(X'57846c9a1f9296d57a77bc1fa6dfa508','');
INSERT INTO rounding_spec VALUES(X'59c3b19bd8258a66aef685445d09c1ff','p_dtype=fp16 p_prescale=1 p_normalized=false p_max=running p_toward_zero=false denominator_from_rounded_p=false s_rounded=fp16 s_rounded_twice=false q_prescaled=none q_prescaled_without_log2e=false split_partial_dtype=fp32 o_between_tiles=none qk_accumulator=fp32/nearest/24/1 pv_accumulator=fp32/nearest/24/1 exp2_rel_error=0 tanh_rel_error=0 reciprocal_rel_error=0 kv_dequantized_to=none out_dtype=fp16 out_toward_zero=false lse_dtype=none lse_base=e lse_includes_sink=true');
INSERT INTO rounding_spec VALUES(X'd449b89170876a044b52a3c938e3cf5a','p_dtype=bf16 p_prescale=1 p_normalized=false p_max=running p_toward_zero=false denominator_from_rounded_p=false s_rounded=none s_rounded_twice=false q_prescaled=none q_prescaled_without_log2e=false split_partial_dtype=fp32 o_between_tiles=none qk_accumulator=fp32/nearest/24/1 pv_accumulator=fp32/nearest/24/1 exp2_rel_error=0 tanh_rel_error=0 reciprocal_rel_error=0 kv_dequantized_to=none out_dtype=bf16 out_toward_zero=false lse_dtype=none lse_base=e lse_includes_sink=true');
INSERT INTO rounding_spec VALUES(X'f7170cc453c45f370c2c707721aeed77','p_dtype=fp32 p_prescale=1 p_normalized=false p_max=running p_toward_zero=false denominator_from_rounded_p=false s_rounded=none s_rounded_twice=false q_prescaled=none q_prescaled_without_log2e=false split_partial_dtype=fp32 o_between_tiles=none qk_accumulator=fp32/nearest/24/1 pv_accumulator=fp32/nearest/24/1 exp2_rel_error=0 tanh_rel_error=0 reciprocal_rel_error=0 kv_dequantized_to=none out_dtype=fp32 out_toward_zero=false lse_dtype=none lse_base=e lse_includes_sink=true');
CREATE TABLE run(
  run_id TEXT NOT NULL PRIMARY KEY,
  run_order TEXT NOT NULL,  -- sorts runs by start, then by the moment they were recorded
  started_at TEXT NOT NULL,
  finished_at TEXT,
  exit_code INTEGER,
  complete INTEGER CHECK ((complete IS NULL) = (finished_at IS NULL)),
  machine_key BLOB NOT NULL REFERENCES machine_class(machine_key),
  code_commit TEXT NOT NULL,
  host TEXT NOT NULL,
  compiler TEXT NOT NULL,
  flags TEXT NOT NULL,
  versions_json TEXT NOT NULL CHECK (versions_json = '' OR json_valid(versions_json)),
  command_line TEXT NOT NULL,
  shard TEXT NOT NULL,
  purpose TEXT NOT NULL,
  -- What of the suites' cases the run was asked for: runs of one selection should hold the same
  -- cases.
  selection TEXT NOT NULL,
  -- Shared by all runs of one night, over all machines; '' where a run is no part of one.
  night_id TEXT NOT NULL,
  planned_cases INTEGER NOT NULL,  -- that the run was to measure; 0 = not known
  -- Seconds by which the clock was behind the newest run of the database, which this run is ordered
  -- after all the same.
  clock_behind_s INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO run VALUES('267d95b3-6d3c-49bc-8edf-d181502d9e5c','2026-11-22T15:42:18.000000000 01795362138125316042 267d95b3-6d3c-49bc-8edf-d181502d9e5c','2026-11-22T15:42:18Z','2026-11-22T15:42:18.134Z',0,1,X'7686ac39030b9e5bcd7e33624aea2de2','','host','GNU 12.2.0','RelWithDebInfo -O2 -g1','{"kernel":"6.18.44-fc-v669","plumbline":"0.1.0","reproduce":"/src/build/dev/bin/plumbline resources"}','plumbline run s.toml --db runs.db','1/1','resources','','2026-11-22',2,0);
INSERT INTO run VALUES('431a4571-f1a6-4a21-9443-ec8c8198b959','2026-11-28T22:51:21.000000000 01795906282009547375 431a4571-f1a6-4a21-9443-ec8c8198b959','2026-11-28T22:51:21Z','2026-11-28T22:51:22.156Z',0,0,X'ec4053f81deb2fec5c36616603c9235a','','host','GNU 12.2.0','RelWithDebInfo -O2 -g0','{"kernel":"6.18.44-fc-v595","measured_with":{"baselines":"","memory_limit_mib":8192,"no_default_provider":false,"providers":["cpu:max_logit=1"],"reference_cost":1000000000.0,"repetitions":90,"row_seed":20261128,"timeout_ms":null},"plumbline":"0.1.0","reproduce":"/src/build/host/bin/plumbline run --provider ''cpu:max_logit=1''","resumable":{"--invariances":"","--memory-limit":"8589934592 bytes","--reference":"cpu","--reference-cost":"1000000000","--repetitions":"90","--shard":"1/1","--timeout":"as the work asks","contracts.toml":"331acc437c9244c9","machine":"cpu x86-64-v3 AMD EPYC 25769803776 ","plan":"1 cases and 0 diffs (f72b174dc6da4173)","plumbline":"plumbline 0.1.0 (judge 4, reference 6, schema 15) 219987baacfee593","provider /src/build/host/lib/plumbline/plumbline_cpu.so":"8a996e38a3f49f9f","provider /src/build/host/lib/plumbline/plumbline_emulated.so":"ec22bf7879812c7c","provider cpu:max_logit=1":"8a996e38a3f49f9f","support.toml":"c234129af6dae162","worker /src/build/host/bin/plumbline-worker":"ec303e6d40b5dc6d"}}','/src/build/host/bin/plumbline run /src/cases/smoke.toml --match ''*naive/fp16/b1-h8x2-s17x33*'' --provider cpu:max_logit=1 --db rel.db','1/1','run','tier=default provider=cpu:max_logit=1','',1,0);
INSERT INTO run VALUES('449e1d5f-027e-4529-83ab-239906ff0250','2026-11-23T07:35:29.000000000 01795419329674030057 449e1d5f-027e-4529-83ab-239906ff0250','2026-11-23T07:35:29Z','2026-11-23T07:35:29.739Z',0,1,X'7686ac39030b9e5bcd7e33624aea2de2','','host','GNU 12.2.0','RelWithDebInfo -O2 -g1','{"kernel":"6.18.44-fc-v669","plumbline":"0.1.0","reproduce":"/src/build/host/bin/plumbline run --provider ''/src/build/host/lib/plumbline/plumbline_cpu.so:slow=2'' --reference-cost 1e6","resumable":{"--invariances":"run_to_run,solo","--memory-limit":"8589934592 bytes","--reference":"cpu","--reference-cost":"1000000","--repetitions":"10","--shard":"1/1","--timeout":"as the work asks","contracts.toml":"bba71aa321d62f1e","machine":"cpu x86-64-v3 Intel(R) Xeon(R) Processor 25769803776 ","plan":"6 cases and 1 diffs (4114e2f93da16f8b)","plumbline":"plumbline 0.1.0 (judge 3, reference 5, schema 11) a98128cfa53ed2a1","provider /src/build/host/lib/plumbline/plumbline_cpu.so":"8e9d45bb6b259f8b","provider /src/build/host/lib/plumbline/plumbline_cpu.so:slow=2":"8e9d45bb6b259f8b","provider /src/build/host/lib/plumbline/plumbline_emulated.so":"c28837d3e58e96b9","support.toml":"c99f5644f7dcf89b","worker /src/build/host/bin/plumbline-worker":"ae83cb0ee0ebc4bd"}}','/src/build/host/bin/plumbline run s.toml --db runs.db -q --invariances=run_to_run,solo --reference-cost 1e6 --row-seed 20261123 --provider /src/build/host/lib/plumbline/plumbline_cpu.so:slow=2','1/1','run','tier=default invariances=run_to_run,solo provider=/src/build/host/lib/plumbline/plumbline_cpu.so:slow=2','2026-11-22',2,0);
INSERT INTO run VALUES('688b6ba9-f0ba-40e9-9b50-e100213e9a87','2026-11-23T07:35:29.000000000 01795419329793241441 688b6ba9-f0ba-40e9-9b50-e100213e9a87','2026-11-23T07:35:29Z','2026-11-23T07:35:29.812Z',0,1,X'7686ac39030b9e5bcd7e33624aea2de2','','host','GNU 12.2.0','RelWithDebInfo -O2 -g1','{"kernel":"6.18.44-fc-v669","plumbline":"0.1.0","reproduce":"/src/build/host/bin/plumbline run","resumable":{"--invariances":"","--memory-limit":"8589934592 bytes","--reference":"cpu","--reference-cost":"1000000000","--repetitions":"10","--shard":"1/1","--timeout":"as the work asks","contracts.toml":"bba71aa321d62f1e","machine":"cpu x86-64-v3 Intel(R) Xeon(R) Processor 25769803776 ","plan":"6 cases and 1 diffs (4114e2f93da16f8b)","plumbline":"plumbline 0.1.0 (judge 3, reference 5, schema 11) a98128cfa53ed2a1","provider /src/build/host/lib/plumbline/plumbline_cpu.so":"8e9d45bb6b259f8b","provider /src/build/host/lib/plumbline/plumbline_emulated.so":"c28837d3e58e96b9","support.toml":"c99f5644f7dcf89b","worker /src/build/host/bin/plumbline-worker":"ae83cb0ee0ebc4bd"}}','/src/build/host/bin/plumbline run s.toml --db runs.db -q','1/1','run','tier=default','2026-11-22',2,0);
INSERT INTO run VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea','2026-11-23T07:35:30.000000000 01795419330871325611 78c87810-f0b3-48a0-88e6-bcc6747cafea','2026-11-23T07:35:30Z','2026-11-23T07:35:30.895Z',0,1,X'7686ac39030b9e5bcd7e33624aea2de2','','host','GNU 12.2.0','RelWithDebInfo -O2 -g1','{"kernel":"6.18.44-fc-v669","plumbline":"0.1.0","reproduce":"/src/build/host/bin/plumbline run","resumable":{"--invariances":"","--memory-limit":"8589934592 bytes","--reference":"cpu","--reference-cost":"1000000000","--repetitions":"10","--shard":"1/1","--timeout":"as the work asks","contracts.toml":"bba71aa321d62f1e","machine":"cpu x86-64-v3 Intel(R) Xeon(R) Processor 25769803776 ","plan":"5 cases and 1 diffs (4eb3048e6c4de290)","plumbline":"plumbline 0.1.0 (judge 3, reference 5, schema 11) a98128cfa53ed2a1","provider /src/build/host/lib/plumbline/plumbline_cpu.so":"8e9d45bb6b259f8b","provider /src/build/host/lib/plumbline/plumbline_emulated.so":"c28837d3e58e96b9","support.toml":"c99f5644f7dcf89b","worker /src/build/host/bin/plumbline-worker":"ae83cb0ee0ebc4bd"}}','/src/build/host/bin/plumbline run s.toml --db runs.db -q','1/1','run','tier=default','2026-11-22',2,0);
CREATE TABLE run_change(
  run_id TEXT NOT NULL REFERENCES run(run_id),
  suite TEXT NOT NULL,
  case_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  value REAL,
  limit_value REAL,
  explanation TEXT NOT NULL,
  standing TEXT NOT NULL,  -- failure: fails the run; open: lost coverage, exit 5; fine: told
  UNIQUE (run_id, suite, case_id, kind)
) STRICT;
INSERT INTO run_change VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea','release','cpu/flash/fp32/b1-h1-s20-d16','vanished',0.0,0.0,'was measured in the last run of its suite, and is not in this one','fine');
CREATE TABLE run_state(
  exit_code INTEGER NOT NULL PRIMARY KEY,
  state TEXT NOT NULL,
  precedence INTEGER NOT NULL  -- of the runs of a night, the state with the smallest counts
) STRICT, WITHOUT ROWID;
INSERT INTO run_state VALUES(0,'fine',4);
INSERT INTO run_state VALUES(1,'not fine',2);
INSERT INTO run_state VALUES(3,'incomplete',0);
INSERT INTO run_state VALUES(4,'nothing measured',1);
INSERT INTO run_state VALUES(5,'open',3);
CREATE TABLE suite_score(
  run_id TEXT NOT NULL REFERENCES run(run_id),
  suite TEXT NOT NULL,
  kernel TEXT NOT NULL,
  dtype TEXT NOT NULL,
  statistic TEXT NOT NULL,
  cases INTEGER NOT NULL,
  value REAL NOT NULL,
  limit_value REAL NOT NULL,
  status TEXT NOT NULL,
  UNIQUE (run_id, suite, kernel, dtype, statistic)
) STRICT;
INSERT INTO suite_score VALUES('449e1d5f-027e-4529-83ab-239906ff0250','release','cpu/flash','bf16','shrink',1,0.11694635756592579312,3.5,'not judged: too few cases');
INSERT INTO suite_score VALUES('449e1d5f-027e-4529-83ab-239906ff0250','release','cpu/flash','bf16','temperature',1,0.097393854557330697407,3.5,'not judged: too few cases');
INSERT INTO suite_score VALUES('449e1d5f-027e-4529-83ab-239906ff0250','release','cpu/flash_tile32','bf16','shrink',1,0.11694635756592579312,3.5,'not judged: too few cases');
INSERT INTO suite_score VALUES('449e1d5f-027e-4529-83ab-239906ff0250','release','cpu/flash_tile32','bf16','temperature',1,0.097393854557330697407,3.5,'not judged: too few cases');
INSERT INTO suite_score VALUES('688b6ba9-f0ba-40e9-9b50-e100213e9a87','release','cpu/flash','bf16','shrink',1,0.11694635756592579312,3.5,'not judged: too few cases');
INSERT INTO suite_score VALUES('688b6ba9-f0ba-40e9-9b50-e100213e9a87','release','cpu/flash','bf16','temperature',1,0.097393854557330697407,3.5,'not judged: too few cases');
INSERT INTO suite_score VALUES('688b6ba9-f0ba-40e9-9b50-e100213e9a87','release','cpu/flash_tile32','bf16','shrink',1,0.11694635756592579312,3.5,'not judged: too few cases');
INSERT INTO suite_score VALUES('688b6ba9-f0ba-40e9-9b50-e100213e9a87','release','cpu/flash_tile32','bf16','temperature',1,0.097393854557330697407,3.5,'not judged: too few cases');
INSERT INTO suite_score VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea','release','cpu/flash','bf16','shrink',1,0.11694635756592579312,3.5,'not judged: too few cases');
INSERT INTO suite_score VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea','release','cpu/flash','bf16','temperature',1,0.097393854557330697407,3.5,'not judged: too few cases');
INSERT INTO suite_score VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea','release','cpu/flash_tile32','bf16','shrink',1,0.11694635756592579312,3.5,'not judged: too few cases');
INSERT INTO suite_score VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea','release','cpu/flash_tile32','bf16','temperature',1,0.097393854557330697407,3.5,'not judged: too few cases');
CREATE TABLE verdict(
  verdict TEXT NOT NULL PRIMARY KEY,
  standing TEXT NOT NULL,  -- fine, open, failure, unmeasured
  is_failure INTEGER NOT NULL,
  is_baseline INTEGER NOT NULL  -- an outcome with this verdict may be compared with later
) STRICT, WITHOUT ROWID;
INSERT INTO verdict VALUES('acknowledged','fine',0,0);
INSERT INTO verdict VALUES('ambiguous','open',0,0);
INSERT INTO verdict VALUES('changed','fine',0,1);
INSERT INTO verdict VALUES('crashed','failure',1,0);
INSERT INTO verdict VALUES('error','failure',1,0);
INSERT INTO verdict VALUES('expected_failure','fine',0,0);
INSERT INTO verdict VALUES('fail','failure',1,0);
INSERT INTO verdict VALUES('first_seen','fine',0,1);
INSERT INTO verdict VALUES('improved','fine',0,1);
INSERT INTO verdict VALUES('mistrusted','failure',1,0);
INSERT INTO verdict VALUES('out_of_memory','failure',1,0);
INSERT INTO verdict VALUES('pass','fine',0,1);
INSERT INTO verdict VALUES('regressed','failure',1,0);
INSERT INTO verdict VALUES('support_mismatch','failure',1,0);
INSERT INTO verdict VALUES('timeout','failure',1,0);
INSERT INTO verdict VALUES('unconfirmed','open',0,0);
INSERT INTO verdict VALUES('unexpected_pass','failure',1,0);
INSERT INTO verdict VALUES('unsupported','unmeasured',0,0);
CREATE TABLE outcome_output(
  case_key BLOB NOT NULL,
  run_id TEXT NOT NULL,
  suite TEXT NOT NULL,
  output TEXT NOT NULL,
  z REAL NOT NULL,  -- max |error| / sigma
  max_abs REAL NOT NULL,
  limit_value REAL,  -- of z; NULL where there was no contract to hold the outcome to
  UNIQUE (case_key, run_id, suite, output),
  FOREIGN KEY (case_key, run_id, suite) REFERENCES outcome(case_key, run_id, suite)
    ON DELETE CASCADE
) STRICT;
INSERT INTO outcome_output VALUES(X'ca6444c13bf72e557aa1e6526aef5ca4','431a4571-f1a6-4a21-9443-ec8c8198b959','smoke','max_logit',0.95318049531360860004,0.00095949554815888404846,8.0);
CREATE TABLE IF NOT EXISTS "invariance"(
  run_id TEXT NOT NULL REFERENCES run(run_id),
  case_key BLOB NOT NULL REFERENCES attention_case(case_key),
  judge_version INTEGER NOT NULL,
  suite TEXT NOT NULL,
  tier TEXT NOT NULL,
  invariance TEXT NOT NULL,
  promise TEXT NOT NULL CHECK (promise IN ('none', 'rounding', 'bitwise')),
  status TEXT NOT NULL
    CHECK (status IN ('ok', 'unsupported', 'crashed', 'timeout', 'out_of_memory', 'error')),
  reason TEXT NOT NULL,
  calls INTEGER NOT NULL,
  calls_refused INTEGER NOT NULL,
  elements INTEGER CHECK ((elements IS NOT NULL) = (status = 'ok')),
  other_bits INTEGER CHECK ((other_bits IS NOT NULL) = (status = 'ok')),
  statistic TEXT,  -- out, or a row output's name
  sample INTEGER,
  head INTEGER,
  row_index INTEGER,
  column_index INTEGER,
  value_a REAL,
  value_b REAL,
  sigmas REAL,
  limit_value REAL,
  ulps REAL,
  problem_a TEXT NOT NULL,
  problem_b TEXT NOT NULL,
  wall_ms REAL NOT NULL,
  verdict TEXT NOT NULL REFERENCES verdict(verdict),
  percent_of_limit REAL NOT NULL,
  nearest_statistic TEXT NOT NULL,
  findings TEXT NOT NULL CHECK (json_valid(findings)),
  notes TEXT NOT NULL CHECK (json_valid(notes)),
  UNIQUE (run_id, suite, case_key, invariance)
) STRICT;
INSERT INTO invariance VALUES('449e1d5f-027e-4529-83ab-239906ff0250',X'73d8768ea94e5aded6ba86350c027fad',3,'release','smoke','run_to_run','bitwise','unsupported','Q, K and V lie in views',0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'bf16/b1-h1-s20-d16/view=packed_qkv','',0.017202999999999999541,'unsupported',0.0,'','[]','["nothing to transform: Q, K and V lie in views"]');
INSERT INTO invariance VALUES('449e1d5f-027e-4529-83ab-239906ff0250',X'73d8768ea94e5aded6ba86350c027fad',3,'release','smoke','solo','bitwise','unsupported','Q, K and V lie in views',0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'bf16/b1-h1-s20-d16/view=packed_qkv','',0.013301000000000000322,'unsupported',0.0,'','[]','["nothing to transform: Q, K and V lie in views"]');
INSERT INTO invariance VALUES('449e1d5f-027e-4529-83ab-239906ff0250',X'ec1a9a67ea376b30a4b60ad1749a1f6e',3,'release','smoke','run_to_run','bitwise','ok','',2,0,68,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'bf16/b2-h1-s1x3-d1x16/merge=natural','',1.113865000000000105,'pass',0.0,'','[]','[]');
INSERT INTO invariance VALUES('449e1d5f-027e-4529-83ab-239906ff0250',X'2346371ff7c9f711d847293707aa8208',3,'release','smoke','run_to_run','bitwise','ok','',2,0,680,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'bf16/b1-h1-s20-d16','',0.99247799999999997133,'pass',0.0,'','[]','[]');
INSERT INTO invariance VALUES('449e1d5f-027e-4529-83ab-239906ff0250',X'2346371ff7c9f711d847293707aa8208',3,'release','smoke','solo','bitwise','unsupported','the batch has one sample',0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'bf16/b1-h1-s20-d16','',0.01337400000000000047,'unsupported',0.0,'','[]','["nothing to transform: the batch has one sample"]');
INSERT INTO invariance VALUES('449e1d5f-027e-4529-83ab-239906ff0250',X'ec1a9a67ea376b30a4b60ad1749a1f6e',3,'release','smoke','solo','bitwise','ok','',2,0,34,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'bf16/b2-h1-s1x3-d1x16/merge=natural','',3.1671429999999998194,'pass',0.0,'','[]','[]');
INSERT INTO invariance VALUES('449e1d5f-027e-4529-83ab-239906ff0250',X'343aefb2cea0184fd6365be178e51481',3,'release','smoke','run_to_run','bitwise','ok','',2,0,680,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'bf16/b1-h1-s20-d16','',6.7146970000000001377,'pass',0.0,'','[]','[]');
INSERT INTO invariance VALUES('449e1d5f-027e-4529-83ab-239906ff0250',X'343aefb2cea0184fd6365be178e51481',3,'release','smoke','solo','bitwise','unsupported','the batch has one sample',0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'bf16/b1-h1-s20-d16','',0.015809000000000000135,'unsupported',0.0,'','[]','["nothing to transform: the batch has one sample"]');
INSERT INTO invariance VALUES('449e1d5f-027e-4529-83ab-239906ff0250',X'928736172b2919807c0ea21f16e1b36f',3,'release','smoke','run_to_run','bitwise','ok','',2,0,23800,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'bf16/b1-h1-s700-d16','',12.445833000000000367,'pass',0.0,'','[]','[]');
INSERT INTO invariance VALUES('449e1d5f-027e-4529-83ab-239906ff0250',X'928736172b2919807c0ea21f16e1b36f',3,'release','smoke','solo','bitwise','unsupported','the batch has one sample',0,0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'bf16/b1-h1-s700-d16','',0.01615000000000000116,'unsupported',0.0,'','[]','["nothing to transform: the batch has one sample"]');
CREATE INDEX attention_case_by_series ON attention_case(series_key);
CREATE INDEX run_by_night ON run(night_id) WHERE night_id <> '';
CREATE UNIQUE INDEX run_by_order ON run(run_order);
CREATE INDEX run_unfinished ON run(run_order) WHERE finished_at IS NULL;
CREATE INDEX run_that_confirms ON run(run_order) WHERE purpose = 'confirm';
CREATE INDEX run_by_machine ON run(machine_key, run_order);
CREATE INDEX outcome_by_run ON outcome(run_id, verdict, suite);
CREATE INDEX outcome_by_verdict ON outcome(verdict);
CREATE INDEX outcome_in_time ON outcome(
  series_key, machine_key, provider_options, run_order DESC, suite, verdict);
CREATE INDEX outcome_timed ON outcome(
  series_key, machine_key, provider_options, run_order DESC, suite, verdict, status, judge_version,
  reference_version, inputs_version, time_ratio, fresh_ratios, gate_finding, confirmation, run_id,
  case_key, timed) WHERE timed;
CREATE TRIGGER latest_outcome_is_stored AFTER INSERT ON outcome
BEGIN
  INSERT INTO latest_outcome VALUES (
    NEW.series_key, NEW.machine_key, NEW.provider_options, NEW.suite, NEW.case_key, NEW.run_order,
    NEW.run_id)
  ON CONFLICT (series_key, machine_key, provider_options, suite, case_key) DO UPDATE SET
    run_order = excluded.run_order, run_id = excluded.run_id
  WHERE excluded.run_order > latest_outcome.run_order;
END;
CREATE TRIGGER latest_outcome_is_deleted AFTER DELETE ON outcome
WHEN EXISTS (
  SELECT 1 FROM latest_outcome AS l
  WHERE l.series_key = OLD.series_key AND l.machine_key = OLD.machine_key
    AND l.provider_options = OLD.provider_options AND l.suite = OLD.suite
    AND l.case_key = OLD.case_key AND l.run_order = OLD.run_order)
BEGIN
  DELETE FROM latest_outcome
  WHERE series_key = OLD.series_key AND machine_key = OLD.machine_key
    AND provider_options = OLD.provider_options AND suite = OLD.suite AND case_key = OLD.case_key;
  INSERT INTO latest_outcome
  SELECT series_key, machine_key, provider_options, suite, case_key, run_order, run_id
  FROM outcome
  WHERE series_key = OLD.series_key AND machine_key = OLD.machine_key
    AND provider_options = OLD.provider_options AND suite = OLD.suite AND case_key = OLD.case_key
  ORDER BY run_order DESC LIMIT 1;
END;
CREATE TRIGGER latest_outcome_has_moved
AFTER UPDATE OF series_key, machine_key, provider_options, run_order ON outcome
WHEN (OLD.series_key, OLD.machine_key, OLD.provider_options, OLD.run_order)
  IS NOT (NEW.series_key, NEW.machine_key, NEW.provider_options, NEW.run_order)
BEGIN
  DELETE FROM latest_outcome
  WHERE series_key IN (OLD.series_key, NEW.series_key) AND suite = NEW.suite
    AND case_key = NEW.case_key;
  INSERT INTO latest_outcome
  SELECT series_key, machine_key, provider_options, suite, case_key, max(run_order), run_id
  FROM outcome
  WHERE series_key IN (OLD.series_key, NEW.series_key) AND suite = NEW.suite
    AND case_key = NEW.case_key
  GROUP BY series_key, machine_key, provider_options;
END;
CREATE INDEX night_event_by_night ON night_event(night_id);
CREATE TRIGGER night_event_is_never_changed BEFORE UPDATE ON night_event
BEGIN SELECT RAISE(ABORT, 'night_event rows are append-only'); END;
CREATE INDEX accepted_case_by_case ON accepted_case(case_key);
CREATE TRIGGER accept_is_never_changed BEFORE UPDATE ON accept
BEGIN SELECT RAISE(ABORT, 'accept rows are append-only'); END;
CREATE TRIGGER accept_is_never_deleted BEFORE DELETE ON accept
BEGIN SELECT RAISE(ABORT, 'accept rows are append-only'); END;
CREATE TRIGGER accepted_case_is_never_changed BEFORE UPDATE ON accepted_case
BEGIN SELECT RAISE(ABORT, 'accept rows are append-only'); END;
CREATE TRIGGER accepted_case_is_never_deleted BEFORE DELETE ON accepted_case
BEGIN SELECT RAISE(ABORT, 'accept rows are append-only'); END;
CREATE TRIGGER pin_is_never_changed BEFORE UPDATE ON pin
BEGIN SELECT RAISE(ABORT, 'pin rows are append-only'); END;
CREATE TRIGGER pin_is_never_deleted BEFORE DELETE ON pin
BEGIN SELECT RAISE(ABORT, 'pin rows are append-only'); END;
CREATE TRIGGER pinned_case_is_never_changed BEFORE UPDATE ON pinned_case
BEGIN SELECT RAISE(ABORT, 'pin rows are append-only'); END;
CREATE TRIGGER pinned_case_is_never_deleted BEFORE DELETE ON pinned_case
BEGIN SELECT RAISE(ABORT, 'pin rows are append-only'); END;
CREATE TRIGGER acknowledgement_is_never_changed BEFORE UPDATE ON acknowledgement
BEGIN SELECT RAISE(ABORT, 'acknowledgement rows are append-only'); END;
CREATE TRIGGER acknowledgement_is_never_deleted BEFORE DELETE ON acknowledgement
BEGIN SELECT RAISE(ABORT, 'acknowledgement rows are append-only'); END;
CREATE TRIGGER acknowledged_case_is_never_changed BEFORE UPDATE ON acknowledged_case
BEGIN SELECT RAISE(ABORT, 'acknowledgement rows are append-only'); END;
CREATE TRIGGER acknowledged_case_is_never_deleted BEFORE DELETE ON acknowledged_case
BEGIN SELECT RAISE(ABORT, 'acknowledgement rows are append-only'); END;
CREATE INDEX outcome_output_by_run ON outcome_output(run_id);
CREATE TRIGGER outcome_output_is_replaced AFTER UPDATE OF output_digest ON outcome
BEGIN
  DELETE FROM outcome_output
  WHERE case_key = NEW.case_key AND run_id = NEW.run_id AND suite = NEW.suite;
END;
COMMIT;
PRAGMA application_id = 1886154082; PRAGMA user_version = 15;
