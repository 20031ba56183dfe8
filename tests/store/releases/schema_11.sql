PRAGMA foreign_keys=OFF;
BEGIN TRANSACTION;
CREATE TABLE meta(
  key TEXT NOT NULL PRIMARY KEY,
  value TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO meta VALUES('views','5ccd6c2f4196d73ad24ed0016d182920');
CREATE TABLE verdict(
  verdict TEXT NOT NULL PRIMARY KEY,
  is_failure INTEGER NOT NULL,
  is_baseline INTEGER NOT NULL  -- an outcome with this verdict may be compared with later
) STRICT, WITHOUT ROWID;
INSERT INTO verdict VALUES('ambiguous',0,0);
INSERT INTO verdict VALUES('changed',0,1);
INSERT INTO verdict VALUES('crashed',1,0);
INSERT INTO verdict VALUES('error',1,0);
INSERT INTO verdict VALUES('expected_failure',0,0);
INSERT INTO verdict VALUES('fail',1,0);
INSERT INTO verdict VALUES('first_seen',0,1);
INSERT INTO verdict VALUES('improved',0,1);
INSERT INTO verdict VALUES('mistrusted',1,0);
INSERT INTO verdict VALUES('out_of_memory',1,0);
INSERT INTO verdict VALUES('pass',0,1);
INSERT INTO verdict VALUES('regressed',1,0);
INSERT INTO verdict VALUES('support_mismatch',1,0);
INSERT INTO verdict VALUES('timeout',1,0);
INSERT INTO verdict VALUES('unconfirmed',0,0);
INSERT INTO verdict VALUES('unexpected_pass',1,0);
INSERT INTO verdict VALUES('unsupported',0,0);
CREATE TABLE machine_class(
  machine_key BLOB NOT NULL PRIMARY KEY CHECK (length(machine_key) = 16),
  device_kind TEXT NOT NULL,
  machine_arch TEXT NOT NULL,
  model TEXT NOT NULL,
  memory_bytes INTEGER NOT NULL,
  clock_policy TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO machine_class VALUES(X'7686ac39030b9e5bcd7e33624aea2de2','cpu','x86-64-v3','Intel(R) Xeon(R) Processor',25769803776,'');
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
INSERT INTO build VALUES(X'a29e06817e28da864e6ab1b75ad19d16','cpu/flash','0ed05fe0e0b4e673','cpu/flash tile 32x64 fp32 accumulate');
CREATE TABLE rounding_spec(
  spec_key BLOB NOT NULL PRIMARY KEY CHECK (length(spec_key) = 16),
  spec TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO rounding_spec VALUES(X'3b80121ade874a07ad873a16966f7620','p_dtype=fp32 p_prescale=1 p_normalized=false p_max=running p_toward_zero=false denominator_from_rounded_p=false s_rounded=none s_rounded_twice=false q_prescaled=none q_prescaled_without_log2e=false split_partial_dtype=fp32 o_between_tiles=none qk_accumulator=fp32/nearest/24/1 pv_accumulator=fp32/nearest/24/1 exp2_rel_error=0 tanh_rel_error=0 reciprocal_rel_error=0 kv_dequantized_to=none out_dtype=bf16 out_toward_zero=false lse_dtype=none lse_base=e lse_includes_sink=true');
INSERT INTO rounding_spec VALUES(X'57846c9a1f9296d57a77bc1fa6dfa508','');
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
  selection TEXT NOT NULL
) STRICT, WITHOUT ROWID;
INSERT INTO run VALUES('267d95b3-6d3c-49bc-8edf-d181502d9e5c','2026-11-22T15:42:18.000000000 01795362138125316042 267d95b3-6d3c-49bc-8edf-d181502d9e5c','2026-11-22T15:42:18Z','2026-11-22T15:42:18.134Z',0,1,X'7686ac39030b9e5bcd7e33624aea2de2','','host','GNU 12.2.0','RelWithDebInfo -O2 -g1','{"kernel":"6.18.44-fc-v669","plumbline":"0.1.0","reproduce":"/src/build/dev/bin/plumbline resources"}','plumbline run s.toml --db runs.db','1/1','resources','');
INSERT INTO run VALUES('449e1d5f-027e-4529-83ab-239906ff0250','2026-11-23T07:35:29.000000000 01795419329674030057 449e1d5f-027e-4529-83ab-239906ff0250','2026-11-23T07:35:29Z','2026-11-23T07:35:29.739Z',0,1,X'7686ac39030b9e5bcd7e33624aea2de2','','host','GNU 12.2.0','RelWithDebInfo -O2 -g1','{"kernel":"6.18.44-fc-v669","plumbline":"0.1.0","reproduce":"/src/build/host/bin/plumbline run --provider ''/src/build/host/lib/plumbline/plumbline_cpu.so:slow=2'' --reference-cost 1e6","resumable":{"--invariances":"run_to_run,solo","--memory-limit":"8589934592 bytes","--reference":"cpu","--reference-cost":"1000000","--repetitions":"10","--shard":"1/1","--timeout":"as the work asks","contracts.toml":"bba71aa321d62f1e","machine":"cpu x86-64-v3 Intel(R) Xeon(R) Processor 25769803776 ","plan":"6 cases and 1 diffs (4114e2f93da16f8b)","plumbline":"plumbline 0.1.0 (judge 3, reference 5, schema 11) a98128cfa53ed2a1","provider /src/build/host/lib/plumbline/plumbline_cpu.so":"8e9d45bb6b259f8b","provider /src/build/host/lib/plumbline/plumbline_cpu.so:slow=2":"8e9d45bb6b259f8b","provider /src/build/host/lib/plumbline/plumbline_emulated.so":"c28837d3e58e96b9","support.toml":"c99f5644f7dcf89b","worker /src/build/host/bin/plumbline-worker":"ae83cb0ee0ebc4bd"}}','/src/build/host/bin/plumbline run s.toml --db runs.db -q --invariances=run_to_run,solo --reference-cost 1e6 --row-seed 20261123 --provider /src/build/host/lib/plumbline/plumbline_cpu.so:slow=2','1/1','run','tier=default invariances=run_to_run,solo provider=/src/build/host/lib/plumbline/plumbline_cpu.so:slow=2');
INSERT INTO run VALUES('688b6ba9-f0ba-40e9-9b50-e100213e9a87','2026-11-23T07:35:29.000000000 01795419329793241441 688b6ba9-f0ba-40e9-9b50-e100213e9a87','2026-11-23T07:35:29Z','2026-11-23T07:35:29.812Z',0,1,X'7686ac39030b9e5bcd7e33624aea2de2','','host','GNU 12.2.0','RelWithDebInfo -O2 -g1','{"kernel":"6.18.44-fc-v669","plumbline":"0.1.0","reproduce":"/src/build/host/bin/plumbline run","resumable":{"--invariances":"","--memory-limit":"8589934592 bytes","--reference":"cpu","--reference-cost":"1000000000","--repetitions":"10","--shard":"1/1","--timeout":"as the work asks","contracts.toml":"bba71aa321d62f1e","machine":"cpu x86-64-v3 Intel(R) Xeon(R) Processor 25769803776 ","plan":"6 cases and 1 diffs (4114e2f93da16f8b)","plumbline":"plumbline 0.1.0 (judge 3, reference 5, schema 11) a98128cfa53ed2a1","provider /src/build/host/lib/plumbline/plumbline_cpu.so":"8e9d45bb6b259f8b","provider /src/build/host/lib/plumbline/plumbline_emulated.so":"c28837d3e58e96b9","support.toml":"c99f5644f7dcf89b","worker /src/build/host/bin/plumbline-worker":"ae83cb0ee0ebc4bd"}}','/src/build/host/bin/plumbline run s.toml --db runs.db -q','1/1','run','tier=default');
INSERT INTO run VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea','2026-11-23T07:35:30.000000000 01795419330871325611 78c87810-f0b3-48a0-88e6-bcc6747cafea','2026-11-23T07:35:30Z','2026-11-23T07:35:30.895Z',0,1,X'7686ac39030b9e5bcd7e33624aea2de2','','host','GNU 12.2.0','RelWithDebInfo -O2 -g1','{"kernel":"6.18.44-fc-v669","plumbline":"0.1.0","reproduce":"/src/build/host/bin/plumbline run","resumable":{"--invariances":"","--memory-limit":"8589934592 bytes","--reference":"cpu","--reference-cost":"1000000000","--repetitions":"10","--shard":"1/1","--timeout":"as the work asks","contracts.toml":"bba71aa321d62f1e","machine":"cpu x86-64-v3 Intel(R) Xeon(R) Processor 25769803776 ","plan":"5 cases and 1 diffs (4eb3048e6c4de290)","plumbline":"plumbline 0.1.0 (judge 3, reference 5, schema 11) a98128cfa53ed2a1","provider /src/build/host/lib/plumbline/plumbline_cpu.so":"8e9d45bb6b259f8b","provider /src/build/host/lib/plumbline/plumbline_emulated.so":"c28837d3e58e96b9","support.toml":"c99f5644f7dcf89b","worker /src/build/host/bin/plumbline-worker":"ae83cb0ee0ebc4bd"}}','/src/build/host/bin/plumbline run s.toml --db runs.db -q','1/1','run','tier=default');
CREATE TABLE outcome(
  run_id TEXT NOT NULL REFERENCES run(run_id),
  case_key BLOB NOT NULL REFERENCES attention_case(case_key),
  suite TEXT NOT NULL,
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
  reference_rows INTEGER NOT NULL,
  rows_total INTEGER NOT NULL,
  -- of the rows that change from night to night; 0: none were compared
  row_seed INTEGER NOT NULL DEFAULT 0,
  widening REAL NOT NULL,
  output_digest TEXT NOT NULL,
  repeat_checked INTEGER NOT NULL,
  repeat_equal INTEGER NOT NULL,
  timed INTEGER NOT NULL,
  time_ns REAL CHECK ((time_ns IS NOT NULL) = timed),
  time_mad_ns REAL CHECK ((time_mad_ns IS NOT NULL) = timed),
  time_ratio REAL CHECK ((time_ratio IS NOT NULL) = timed),
  time_hot_ns REAL,           -- NULL unless timed on a GPU
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

  faults_total INTEGER NOT NULL AS (
    faults_nan + faults_inf + faults_unwritten + faults_out_of_range + faults_padded_rows +
    faults_empty_rows + faults_inexact + faults_fence_bytes),
  UNIQUE (case_key, run_id, suite)
) STRICT;
INSERT INTO outcome VALUES('449e1d5f-027e-4529-83ab-239906ff0250',X'2346371ff7c9f711d847293707aa8208','release',X'8964ffd69d06df829a4319fd4467adef',X'7686ac39030b9e5bcd7e33624aea2de2',X'd449b89170876a044b52a3c938e3cf5a',X'd449b89170876a044b52a3c938e3cf5a','x86-64-v3',3,5,1,0.84604108333587646484,0,0,'plain','smoke','bf6eaae228e55f0c0bc2f349f39a93b0','slow=2','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',24704,320,2.2207588295586750959,1.8564990223141628611,0.84604106368094633694,0.48142389499418097864,0.003240240858873644214,3.5231088471263998229,0.00050516186694018452765,517.19831504345745542,0.037499999999999998612,0.0,1,0.18327634278706764203,1.8854702332760098215e-07,0,NULL,1,0.11694635756592579312,-0.097393854557330697407,0,0,0,0,0,0,0,0,'','peak',1,0,0,12,14,0,-0.251953125,-0.25049968389663684886,0.00065447948873043060302,0.001953125,0.2578583225299352355,7.4700841855361683877e-08,0.0,0.0,5.2232204950848562345e-09,0.0,0.74214159754600239615,20,'','',0.0,'','',X'2696583f',20,20,0,1.0,'346db15ea5f076743991bb228728a821',1,1,0,NULL,NULL,NULL,NULL,NULL,6.3304949999999999832,'','','','','','first_seen',62.669708420810835034,'rms','[]','[]',6.5,6.5,1.3500000000000000888,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'');
INSERT INTO outcome VALUES('449e1d5f-027e-4529-83ab-239906ff0250',X'73d8768ea94e5aded6ba86350c027fad','release',X'8964ffd69d06df829a4319fd4467adef',X'7686ac39030b9e5bcd7e33624aea2de2',X'd449b89170876a044b52a3c938e3cf5a',X'd449b89170876a044b52a3c938e3cf5a','x86-64-v3',3,5,1,0.84604108333587646484,0,0,'plain','smoke','7e27daf32dcdb72dbc1e09021d398def','slow=2','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',24704,320,2.2207588295586750959,1.8564990223141628611,0.84604106368094633694,0.48142389499418097864,0.003240240858873644214,3.5231088471263998229,0.00050516186694018452765,517.19831504345745542,0.037499999999999998612,0.0,1,0.18327634278706764203,1.8854702332760098215e-07,0,NULL,1,0.11694635756592579312,-0.097393854557330697407,0,0,0,0,0,0,0,0,'','peak',1,0,0,12,14,0,-0.251953125,-0.25049968389663684886,0.00065447948873043060302,0.001953125,0.2578583225299352355,7.4700841855361683877e-08,0.0,0.0,5.2232204950848562345e-09,0.0,0.74214159754600239615,20,'','',0.0,'','',X'2696583f',20,20,0,1.0,'346db15ea5f076743991bb228728a821',1,1,0,NULL,NULL,NULL,NULL,NULL,6.392712000000000394,'','','','','','first_seen',62.669708420810835034,'rms','[]','[]',6.5,6.5,1.3500000000000000888,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'');
INSERT INTO outcome VALUES('449e1d5f-027e-4529-83ab-239906ff0250',X'343aefb2cea0184fd6365be178e51481','release',X'047558da961da67f6163b0004b0f5806',X'7686ac39030b9e5bcd7e33624aea2de2',X'd449b89170876a044b52a3c938e3cf5a',X'd449b89170876a044b52a3c938e3cf5a','x86-64-v3',3,5,1,0.84604108333587646484,0,0,'tiles','smoke','bf6eaae228e55f0c0bc2f349f39a93b0','slow=2','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',16512,320,2.2207588295586750959,1.8564990223141628611,0.84604106368094633694,0.48142389499418097864,0.003240240858873644214,3.5231088471263998229,0.00050516186694018452765,517.19831504345745542,0.037499999999999998612,0.0,1,0.18327634278706764203,1.8854702332760098215e-07,0,NULL,1,0.11694635756592579312,-0.097393854557330697407,0,0,0,0,0,0,0,0,'','peak',1,0,0,12,14,0,-0.251953125,-0.25049968389663684886,0.00065447948873043060302,0.001953125,0.2578583225299352355,7.4700841855361683877e-08,0.0,0.0,5.2232204950848562345e-09,0.0,0.74214159754600239615,20,'','',0.0,'','',X'2696583f',20,20,0,1.0,'346db15ea5f076743991bb228728a821',1,1,0,NULL,NULL,NULL,NULL,NULL,0.57130000000000003002,'','','','','','first_seen',62.669708420810835034,'rms','[]','[]',6.5,6.5,1.3500000000000000888,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'');
INSERT INTO outcome VALUES('449e1d5f-027e-4529-83ab-239906ff0250',X'ec1a9a67ea376b30a4b60ad1749a1f6e','release',X'79652e701749534fb8c227502150a7f3',X'7686ac39030b9e5bcd7e33624aea2de2',X'3b80121ade874a07ad873a16966f7620',X'3b80121ade874a07ad873a16966f7620','x86-64-v3',3,5,1,1.2479987144470214843,1,0,'merge','smoke','4fdde447da5dc9f50242db6f5b00ec78','slow=2','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',128,32,1.7203953776057832047,0.0,1.1749504388630185314,0.99272987495915454569,0.0036983879081438075786,0.0036060439961571539094,0.00096466693040528253121,0.49663540954469453936,0.15625,0.0,1,0.18154451711847080508,1.6910181077633978929e-07,0,NULL,0,NULL,NULL,0,0,0,0,0,0,0,0,'','peak',1,1,0,0,4,0,-0.93359375,-0.93165376793146603695,0.0011276373406872153282,0.00390625,8.1869321323070631344e-10,1.5448294776181461743e-08,0.0,0.0,8.1361684210143596232e-08,0.0,0.9999999023713277424,3,'','',0.0,'','',X'196c8c3f6cbe9f3f',2,2,0,1.0,'d7f53b157c24261858d43d51afdc9409',1,1,0,NULL,NULL,NULL,NULL,NULL,2.8239119999999999777,'','','','','','first_seen',30.770941588079644191,'rms','[]','[]',6.5,6.5,3.8183766184073570926,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, lse=bitwise',NULL,NULL,'');
INSERT INTO outcome VALUES('449e1d5f-027e-4529-83ab-239906ff0250',X'4db5b780562bad597c8d19a4ac3268d1','release',X'880b2ce3182d3a423cdb3b96e3f226c2',X'7686ac39030b9e5bcd7e33624aea2de2',X'f7170cc453c45f370c2c707721aeed77',X'57846c9a1f9296d57a77bc1fa6dfa508','x86-64-v3',3,5,1,NULL,NULL,NULL,'vanishes','smoke','417b662388a47f40bc9421d2a66b3274','slow=2','unsupported','FlashAttention only supports fp16 and bf16 (got fp32)','none','zeros','none','none','none','none','none','none','none',NULL,NULL,NULL,NULL,'','',NULL,'','','',0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,0,NULL,0,NULL,NULL,0,0,0,0,0,0,0,0,'','',0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'','',0.0,'','',X'',0,0,0,1.0,'',0,0,0,NULL,NULL,NULL,NULL,NULL,0.34139599999999997725,'','','','','','unsupported',0.0,'','[]','["unsupported: FlashAttention only supports fp16 and bf16 (got fp32)"]',6.5,6.5,1.8000000000000000444,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'');
INSERT INTO outcome VALUES('449e1d5f-027e-4529-83ab-239906ff0250',X'928736172b2919807c0ea21f16e1b36f','release',X'8964ffd69d06df829a4319fd4467adef',X'7686ac39030b9e5bcd7e33624aea2de2',X'd449b89170876a044b52a3c938e3cf5a',X'd449b89170876a044b52a3c938e3cf5a','x86-64-v3',3,5,1,0.93896889686584472656,0,0,'long','smoke','755b257d30b4674eec86c09f5b1f6d19','slow=2','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',24704,704,2.6598751457672520359,2.2674237858938273149,0.93896884763558474684,0.18758168465637845012,0.0008330459044973981264,0.23941539791460050845,0.0001179695936421677803,33.20909259895103105,0.0,0.0,1,0.078972318967757942909,3.015495044778049305e-07,1,1.9821894665494566023,0,NULL,NULL,0,0,0,0,0,0,0,0,'','peak',1,0,0,54,8,0,0.0211181640625,0.021357331429340056794,8.9916764409281313419e-05,0.0001220703125,0.84641101648116079392,6.2274400618715060914e-07,0.0,0.0,2.7016854336610256741e-07,0.0,0.15358809060628961229,700,'','',0.0,'','',X'4460703f',44,700,20261123,1.0,'21b6886b1a865cc9623d95f84e2a52b4',1,1,0,NULL,NULL,NULL,NULL,NULL,24.094553000000001219,'','','','','','first_seen',69.553247973006278926,'rms','[]','["44 of 700 rows were compared with the reference; faults were looked for in all"]',6.5,6.5,1.3500000000000000888,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'');
INSERT INTO outcome VALUES('688b6ba9-f0ba-40e9-9b50-e100213e9a87',X'2346371ff7c9f711d847293707aa8208','release',X'a29e06817e28da864e6ab1b75ad19d16',X'7686ac39030b9e5bcd7e33624aea2de2',X'd449b89170876a044b52a3c938e3cf5a',X'd449b89170876a044b52a3c938e3cf5a','x86-64-v3',3,5,1,0.84604108333587646484,0,0,'plain','smoke','bf6eaae228e55f0c0bc2f349f39a93b0','','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',24704,320,2.2207588295586750959,1.8564990223141628611,0.84604106368094633694,0.48142389499418097864,0.003240240858873644214,3.5231088471263998229,0.00050516186694018452765,517.19831504345745542,0.037499999999999998612,0.0,1,0.18327634278706764203,1.8854702332760098215e-07,0,NULL,1,0.11694635756592579312,-0.097393854557330697407,0,0,0,0,0,0,0,0,'','peak',1,0,0,12,14,0,-0.251953125,-0.25049968389663684886,0.00065447948873043060302,0.001953125,0.2578583225299352355,7.4700841855361683877e-08,0.0,0.0,5.2232204950848562345e-09,0.0,0.74214159754600239615,20,'','',0.0,'','',X'2696583f',20,20,0,1.0,'346db15ea5f076743991bb228728a821',1,1,0,NULL,NULL,NULL,NULL,NULL,3.795818999999999832,'','','','','','first_seen',62.669708420810835034,'rms','[]','[]',6.5,6.5,1.3500000000000000888,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'');
INSERT INTO outcome VALUES('688b6ba9-f0ba-40e9-9b50-e100213e9a87',X'73d8768ea94e5aded6ba86350c027fad','release',X'a29e06817e28da864e6ab1b75ad19d16',X'7686ac39030b9e5bcd7e33624aea2de2',X'd449b89170876a044b52a3c938e3cf5a',X'd449b89170876a044b52a3c938e3cf5a','x86-64-v3',3,5,1,0.84604108333587646484,0,0,'plain','smoke','7e27daf32dcdb72dbc1e09021d398def','','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',24704,320,2.2207588295586750959,1.8564990223141628611,0.84604106368094633694,0.48142389499418097864,0.003240240858873644214,3.5231088471263998229,0.00050516186694018452765,517.19831504345745542,0.037499999999999998612,0.0,1,0.18327634278706764203,1.8854702332760098215e-07,0,NULL,1,0.11694635756592579312,-0.097393854557330697407,0,0,0,0,0,0,0,0,'','peak',1,0,0,12,14,0,-0.251953125,-0.25049968389663684886,0.00065447948873043060302,0.001953125,0.2578583225299352355,7.4700841855361683877e-08,0.0,0.0,5.2232204950848562345e-09,0.0,0.74214159754600239615,20,'','',0.0,'','',X'2696583f',20,20,0,1.0,'346db15ea5f076743991bb228728a821',1,1,0,NULL,NULL,NULL,NULL,NULL,3.789477999999999902,'','','','','','first_seen',62.669708420810835034,'rms','[]','[]',6.5,6.5,1.3500000000000000888,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'');
INSERT INTO outcome VALUES('688b6ba9-f0ba-40e9-9b50-e100213e9a87',X'343aefb2cea0184fd6365be178e51481','release',X'3a40aff64e9453c2cc88e36b4d66bd89',X'7686ac39030b9e5bcd7e33624aea2de2',X'd449b89170876a044b52a3c938e3cf5a',X'd449b89170876a044b52a3c938e3cf5a','x86-64-v3',3,5,1,0.84604108333587646484,0,0,'tiles','smoke','bf6eaae228e55f0c0bc2f349f39a93b0','','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',16512,320,2.2207588295586750959,1.8564990223141628611,0.84604106368094633694,0.48142389499418097864,0.003240240858873644214,3.5231088471263998229,0.00050516186694018452765,517.19831504345745542,0.037499999999999998612,0.0,1,0.18327634278706764203,1.8854702332760098215e-07,0,NULL,1,0.11694635756592579312,-0.097393854557330697407,0,0,0,0,0,0,0,0,'','peak',1,0,0,12,14,0,-0.251953125,-0.25049968389663684886,0.00065447948873043060302,0.001953125,0.2578583225299352355,7.4700841855361683877e-08,0.0,0.0,5.2232204950848562345e-09,0.0,0.74214159754600239615,20,'','',0.0,'','',X'2696583f',20,20,0,1.0,'346db15ea5f076743991bb228728a821',1,1,0,NULL,NULL,NULL,NULL,NULL,0.61440799999999995417,'','','','','','first_seen',62.669708420810835034,'rms','[]','[]',6.5,6.5,1.3500000000000000888,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'');
INSERT INTO outcome VALUES('688b6ba9-f0ba-40e9-9b50-e100213e9a87',X'ec1a9a67ea376b30a4b60ad1749a1f6e','release',X'1e2fb89fa6c7b7f46113fd38eb0ecc79',X'7686ac39030b9e5bcd7e33624aea2de2',X'3b80121ade874a07ad873a16966f7620',X'3b80121ade874a07ad873a16966f7620','x86-64-v3',3,5,1,1.2479987144470214843,1,0,'merge','smoke','4fdde447da5dc9f50242db6f5b00ec78','','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',128,32,1.7203953776057832047,0.0,1.1749504388630185314,0.99272987495915454569,0.0036983879081438075786,0.0036060439961571539094,0.00096466693040528253121,0.49663540954469453936,0.15625,0.0,1,0.18154451711847080508,1.6910181077633978929e-07,0,NULL,0,NULL,NULL,0,0,0,0,0,0,0,0,'','peak',1,1,0,0,4,0,-0.93359375,-0.93165376793146603695,0.0011276373406872153282,0.00390625,8.1869321323070631344e-10,1.5448294776181461743e-08,0.0,0.0,8.1361684210143596232e-08,0.0,0.9999999023713277424,3,'','',0.0,'','',X'196c8c3f6cbe9f3f',2,2,0,1.0,'d7f53b157c24261858d43d51afdc9409',1,1,0,NULL,NULL,NULL,NULL,NULL,0.76909400000000005537,'','','','','','first_seen',30.770941588079644191,'rms','[]','[]',6.5,6.5,3.8183766184073570926,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, lse=bitwise',NULL,NULL,'');
INSERT INTO outcome VALUES('688b6ba9-f0ba-40e9-9b50-e100213e9a87',X'4db5b780562bad597c8d19a4ac3268d1','release',X'880b2ce3182d3a423cdb3b96e3f226c2',X'7686ac39030b9e5bcd7e33624aea2de2',X'f7170cc453c45f370c2c707721aeed77',X'57846c9a1f9296d57a77bc1fa6dfa508','x86-64-v3',3,5,1,NULL,NULL,NULL,'vanishes','smoke','417b662388a47f40bc9421d2a66b3274','','unsupported','FlashAttention only supports fp16 and bf16 (got fp32)','none','zeros','none','none','none','none','none','none','none',NULL,NULL,NULL,NULL,'','',NULL,'','','',0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,0,NULL,NULL,0,NULL,0,NULL,NULL,0,0,0,0,0,0,0,0,'','',0,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,NULL,'','',0.0,'','',X'',0,0,0,1.0,'',0,0,0,NULL,NULL,NULL,NULL,NULL,0.21238899999999999446,'','','','','','unsupported',0.0,'','[]','["unsupported: FlashAttention only supports fp16 and bf16 (got fp32)"]',6.5,6.5,1.8000000000000000444,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'');
INSERT INTO outcome VALUES('688b6ba9-f0ba-40e9-9b50-e100213e9a87',X'928736172b2919807c0ea21f16e1b36f','release',X'a29e06817e28da864e6ab1b75ad19d16',X'7686ac39030b9e5bcd7e33624aea2de2',X'd449b89170876a044b52a3c938e3cf5a',X'd449b89170876a044b52a3c938e3cf5a','x86-64-v3',3,5,1,0.93421894311904907226,0,0,'long','smoke','755b257d30b4674eec86c09f5b1f6d19','','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',24704,11200,3.6018340102949437664,3.592480055858528587,0.93421881918726823457,0.30387728021994775406,0.0018170066783594895909,24.517096094511135362,0.00010712419937819033519,6272.1715163895860314,8.9285714285714285632e-05,0.0,1,0.10007087462072794536,3.8143237368615245941e-07,0,NULL,0,NULL,NULL,0,0,0,0,0,0,0,0,'','peak',1,0,0,456,6,0,-8.165836334228515625e-06,-0.0003733143145862056339,0.00010137848585145547986,1.9073486328125e-06,0.9999697205163891045,4.7915030448523334895e-07,0.0,0.0,3.0268237236660330707e-07,0.0,2.9497650933967998008e-05,700,'','',0.0,'','',X'f9286f3f',700,700,0,1.0,'21b6886b1a865cc9623d95f84e2a52b4',1,1,0,NULL,NULL,NULL,NULL,NULL,11.977792000000000883,'','','','','','first_seen',69.201394013871720288,'rms','[]','[]',6.5,6.5,1.3500000000000000888,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'');
INSERT INTO outcome VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',X'2346371ff7c9f711d847293707aa8208','release',X'a29e06817e28da864e6ab1b75ad19d16',X'7686ac39030b9e5bcd7e33624aea2de2',X'd449b89170876a044b52a3c938e3cf5a',X'd449b89170876a044b52a3c938e3cf5a','x86-64-v3',3,5,1,0.84604108333587646484,0,0,'plain','smoke','bf6eaae228e55f0c0bc2f349f39a93b0','','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',24704,320,2.2207588295586750959,1.8564990223141628611,0.84604106368094633694,0.48142389499418097864,0.003240240858873644214,3.5231088471263998229,0.00050516186694018452765,517.19831504345745542,0.037499999999999998612,0.0,1,0.18327634278706764203,1.8854702332760098215e-07,0,NULL,1,0.11694635756592579312,-0.097393854557330697407,0,0,0,0,0,0,0,0,'','peak',1,0,0,12,14,0,-0.251953125,-0.25049968389663684886,0.00065447948873043060302,0.001953125,0.2578583225299352355,7.4700841855361683877e-08,0.0,0.0,5.2232204950848562345e-09,0.0,0.74214159754600239615,20,'','',0.0,'','',X'2696583f',20,20,0,1.0,'346db15ea5f076743991bb228728a821',1,1,0,NULL,NULL,NULL,NULL,NULL,3.7973150000000002179,'','','','','','pass',62.669708420810835034,'rms','[]','[]',6.5,6.5,1.3500000000000000888,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'');
INSERT INTO outcome VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',X'73d8768ea94e5aded6ba86350c027fad','release',X'a29e06817e28da864e6ab1b75ad19d16',X'7686ac39030b9e5bcd7e33624aea2de2',X'd449b89170876a044b52a3c938e3cf5a',X'd449b89170876a044b52a3c938e3cf5a','x86-64-v3',3,5,1,0.84604108333587646484,0,0,'plain','smoke','7e27daf32dcdb72dbc1e09021d398def','','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',24704,320,2.2207588295586750959,1.8564990223141628611,0.84604106368094633694,0.48142389499418097864,0.003240240858873644214,3.5231088471263998229,0.00050516186694018452765,517.19831504345745542,0.037499999999999998612,0.0,1,0.18327634278706764203,1.8854702332760098215e-07,0,NULL,1,0.11694635756592579312,-0.097393854557330697407,0,0,0,0,0,0,0,0,'','peak',1,0,0,12,14,0,-0.251953125,-0.25049968389663684886,0.00065447948873043060302,0.001953125,0.2578583225299352355,7.4700841855361683877e-08,0.0,0.0,5.2232204950848562345e-09,0.0,0.74214159754600239615,20,'','',0.0,'','',X'2696583f',20,20,0,1.0,'346db15ea5f076743991bb228728a821',1,1,0,NULL,NULL,NULL,NULL,NULL,4.4994490000000002538,'','','','','','pass',62.669708420810835034,'rms','[]','[]',6.5,6.5,1.3500000000000000888,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'');
INSERT INTO outcome VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',X'343aefb2cea0184fd6365be178e51481','release',X'3a40aff64e9453c2cc88e36b4d66bd89',X'7686ac39030b9e5bcd7e33624aea2de2',X'd449b89170876a044b52a3c938e3cf5a',X'd449b89170876a044b52a3c938e3cf5a','x86-64-v3',3,5,1,0.84604108333587646484,0,0,'tiles','smoke','bf6eaae228e55f0c0bc2f349f39a93b0','','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',16512,320,2.2207588295586750959,1.8564990223141628611,0.84604106368094633694,0.48142389499418097864,0.003240240858873644214,3.5231088471263998229,0.00050516186694018452765,517.19831504345745542,0.037499999999999998612,0.0,1,0.18327634278706764203,1.8854702332760098215e-07,0,NULL,1,0.11694635756592579312,-0.097393854557330697407,0,0,0,0,0,0,0,0,'','peak',1,0,0,12,14,0,-0.251953125,-0.25049968389663684886,0.00065447948873043060302,0.001953125,0.2578583225299352355,7.4700841855361683877e-08,0.0,0.0,5.2232204950848562345e-09,0.0,0.74214159754600239615,20,'','',0.0,'','',X'2696583f',20,20,0,1.0,'346db15ea5f076743991bb228728a821',1,1,0,NULL,NULL,NULL,NULL,NULL,0.57836500000000001797,'','','','','','pass',62.669708420810835034,'rms','[]','[]',6.5,6.5,1.3500000000000000888,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'');
INSERT INTO outcome VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',X'ec1a9a67ea376b30a4b60ad1749a1f6e','release',X'1e2fb89fa6c7b7f46113fd38eb0ecc79',X'7686ac39030b9e5bcd7e33624aea2de2',X'3b80121ade874a07ad873a16966f7620',X'3b80121ade874a07ad873a16966f7620','x86-64-v3',3,5,1,1.2479987144470214843,1,0,'merge','smoke','4fdde447da5dc9f50242db6f5b00ec78','','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',128,32,1.7203953776057832047,0.0,1.1749504388630185314,0.99272987495915454569,0.0036983879081438075786,0.0036060439961571539094,0.00096466693040528253121,0.49663540954469453936,0.15625,0.0,1,0.18154451711847080508,1.6910181077633978929e-07,0,NULL,0,NULL,NULL,0,0,0,0,0,0,0,0,'','peak',1,1,0,0,4,0,-0.93359375,-0.93165376793146603695,0.0011276373406872153282,0.00390625,8.1869321323070631344e-10,1.5448294776181461743e-08,0.0,0.0,8.1361684210143596232e-08,0.0,0.9999999023713277424,3,'','',0.0,'','',X'196c8c3f6cbe9f3f',2,2,0,1.0,'d7f53b157c24261858d43d51afdc9409',1,1,0,NULL,NULL,NULL,NULL,NULL,0.71382599999999996054,'','','','','','pass',30.770941588079644191,'rms','[]','[]',6.5,6.5,3.8183766184073570926,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, lse=bitwise',NULL,NULL,'');
INSERT INTO outcome VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea',X'928736172b2919807c0ea21f16e1b36f','release',X'a29e06817e28da864e6ab1b75ad19d16',X'7686ac39030b9e5bcd7e33624aea2de2',X'd449b89170876a044b52a3c938e3cf5a',X'd449b89170876a044b52a3c938e3cf5a','x86-64-v3',3,5,1,0.93421894311904907226,0,0,'long','smoke','755b257d30b4674eec86c09f5b1f6d19','','ok','','none','zeros','bitwise','bitwise','bitwise','bitwise','rounding','bitwise','bitwise',NULL,NULL,NULL,NULL,'','',NULL,'','','',24704,11200,3.6018340102949437664,3.592480055858528587,0.93421881918726823457,0.30387728021994775406,0.0018170066783594895909,24.517096094511135362,0.00010712419937819033519,6272.1715163895860314,8.9285714285714285632e-05,0.0,1,0.10007087462072794536,3.8143237368615245941e-07,0,NULL,0,NULL,NULL,0,0,0,0,0,0,0,0,'','peak',1,0,0,456,6,0,-8.165836334228515625e-06,-0.0003733143145862056339,0.00010137848585145547986,1.9073486328125e-06,0.9999697205163891045,4.7915030448523334895e-07,0.0,0.0,3.0268237236660330707e-07,0.0,2.9497650933967998008e-05,700,'','',0.0,'','',X'f9286f3f',700,700,0,1.0,'21b6886b1a865cc9623d95f84e2a52b4',1,1,0,NULL,NULL,NULL,NULL,NULL,17.044892999999998294,'','','','','','pass',69.201394013871720288,'rms','[]','[]',6.5,6.5,1.3500000000000000888,6.0,19.5,'zeros','run_to_run=bitwise, batch=bitwise, layout=bitwise, page=bitwise, split=rounding, prefill_decode=bitwise, lse=bitwise',NULL,NULL,'');
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
CREATE TABLE invariance(
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
  statistic TEXT CHECK (statistic IN ('out', 'lse')),
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
CREATE TABLE run_change(
  run_id TEXT NOT NULL REFERENCES run(run_id),
  suite TEXT NOT NULL,
  case_id TEXT NOT NULL,
  kind TEXT NOT NULL,
  value REAL,
  limit_value REAL,
  explanation TEXT NOT NULL,
  is_failure INTEGER NOT NULL,
  UNIQUE (run_id, suite, case_id, kind)
) STRICT;
INSERT INTO run_change VALUES('78c87810-f0b3-48a0-88e6-bcc6747cafea','release','cpu/flash/fp32/b1-h1-s20-d16','vanished',0.0,0.0,'was measured in the last run of its suite, and is not in this one',0);
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
CREATE INDEX attention_case_by_series ON attention_case(series_key);
CREATE UNIQUE INDEX run_by_order ON run(run_order);
CREATE INDEX run_by_machine ON run(machine_key, run_order);
CREATE INDEX outcome_by_run ON outcome(run_id);
CREATE INDEX outcome_by_verdict ON outcome(verdict);
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
CREATE VIEW v_runs AS
SELECT
  r.run_id, r.run_order, r.started_at, r.finished_at, r.finished_at IS NOT NULL AS finished,
  r.complete, r.exit_code, r.purpose, r.shard, r.selection, r.code_commit, r.host,
  m.device_kind || ' ' || m.machine_arch || ' ' || m.model AS machine,
  lower(hex(m.machine_key)) AS machine_class,
  m.device_kind, m.machine_arch, m.model, m.memory_bytes, m.clock_policy, r.compiler, r.flags,
  r.versions_json, r.command_line,
  (SELECT count(*) FROM outcome AS o WHERE o.run_id = r.run_id) AS outcomes,
  (SELECT count(*) FROM outcome AS o JOIN verdict AS v USING (verdict) WHERE o.run_id = r.run_id
    AND v.is_failure) AS failures,
  (SELECT count(*) FROM diff AS d WHERE d.run_id = r.run_id) AS diffs,
  (SELECT count(*) FROM diff AS d JOIN verdict AS v USING (verdict) WHERE d.run_id = r.run_id
    AND v.is_failure) AS diff_failures
FROM run AS r JOIN machine_class AS m USING (machine_key);
CREATE VIEW v_history AS
SELECT
  -- series and run
  c.case_id, o.provider_options,
  m.device_kind || ' ' || m.machine_arch || ' ' || m.model AS machine,
  lower(hex(m.machine_key)) AS machine_class,
  r.run_id, r.run_order, r.started_at, r.finished_at IS NOT NULL AS finished, r.purpose,
  r.code_commit, o.judge_version, o.reference_version, o.inputs_version,
  -- case
  o.suite, o.case_group, o.tier, c.kernel, c.device, o.arch, o.tensor_cores, c.dtype, c.kv_dtype,
  c.out_dtype, c.layout, c.mask, c.window_left, c.window_right, c.lengths, c.padding, c.page_size,
  c.fill, c.law, c.v_law, c.batch, c.heads_q, c.heads_kv, c.seq_q, c.seq_kv, c.head_dim_qk,
  c.head_dim_vo, c.k_scale, c.v_scale, c.scale, c.softcap, c.alibi, c.sinks, c.kv_scales,
  c.scale_block, c.view, c.merge, c.lse, c.seed, c.inputs, o.problem_digest,
  -- what happened, and what is concluded
  o.status, o.verdict, v.is_failure,
  o.status = 'ok' AND (v.is_baseline AND r.finished_at IS NOT NULL
    AND NOT (o.verdict = 'first_seen' AND EXISTS (
      SELECT 1
      FROM attention_case AS ec JOIN outcome AS e ON e.case_key = ec.case_key
        JOIN run AS er ON er.run_id = e.run_id
      JOIN verdict AS ev ON ev.verdict = e.verdict
      WHERE ec.series_key = c.series_key AND e.machine_key = o.machine_key
        AND e.provider_options = o.provider_options AND er.run_order < r.run_order
        AND er.finished_at IS NOT NULL AND ev.is_baseline AND e.status = 'ok'
          AND e.judge_version = o.judge_version
        AND e.reference_version = o.reference_version AND e.inputs_version = o.inputs_version))
    OR EXISTS (SELECT 1 FROM accepted_case AS a WHERE a.run_id = o.run_id
      AND a.case_key = o.case_key)) AS accepted,
  o.reason, o.percent_of_limit, o.nearest_statistic, o.findings, o.notes, o.confirmation,
  o.limit_peak, o.limit_beyond_output, o.limit_rms, o.limit_lse, o.limit_elsewhere,
  o.pinned_padding_policy, o.pinned_promises,
  -- errors
  o.elements, o.peak, o.beyond_output, o.rms, o.bound, o.max_abs, o.max_rel, o.mean_abs, o.max_ulp,
  o.lse_z, o.lse_max_abs, o.elsewhere, o.shrink_z, o.temperature_z, o.outside_allclose_1e3,
  o.outside_allclose_1e2, o.reference_rows, o.rows_total, o.row_seed, o.widening,
  js.spec AS judged_spec,
  -- faults
  o.faults_total, o.faults_nan, o.faults_inf, o.faults_unwritten, o.faults_out_of_range,
  o.faults_padded_rows, o.faults_empty_rows, o.faults_inexact, o.faults_fence_bytes,
  o.faults_detail,
  -- the worst element, and where a fault sits
  o.worst_statistic, o.worst_sample, o.worst_head, o.worst_row, o.worst_column, o.worst_got,
  o.worst_got_is_nan, o.worst_expected, o.worst_sigma, o.worst_ulp, o.worst_visible_keys,
  o.worst_share_p, o.worst_share_logit, o.worst_share_s, o.worst_share_exp2,
  o.worst_share_accumulation, o.worst_share_split_partials, o.worst_share_output, o.location_kind,
  o.location_description, o.location_z, o.cause, o.looser_rung, o.head_rms_max,
  o.head_rms_max_sample, o.head_rms_max_head,
  -- bits
  o.output_digest, o.repeat_checked, o.repeat_equal,
  -- time and resources
  o.timed, o.time_ns, o.time_mad_ns, o.time_ratio, o.time_hot_ns, o.past_times, o.time_over_past,
  o.wall_ms, o.workspace_bytes, o.peak_memory_bytes, o.registers_per_thread,
  o.spill_bytes_per_thread, o.shared_memory_bytes, o.stack_bytes_per_thread,
  -- what ran
  b.build_id, b.launched, ds.spec AS declared_spec, o.padding_policy, o.promise_run_to_run,
  o.promise_batch, o.promise_layout, o.promise_page, o.promise_split, o.promise_prefill_decode,
  o.promise_lse, o.saved_to, o.reused_from, o.device_model, o.device_memory_bytes, o.device_driver,
  o.device_runtime,
  o.expected_issue, o.expected_expires, o.expected_reason
FROM outcome AS o
JOIN run AS r USING (run_id)
JOIN machine_class AS m ON m.machine_key = o.machine_key
JOIN attention_case AS c USING (case_key)
JOIN build AS b USING (build_key)
JOIN rounding_spec AS ds ON ds.spec_key = o.declared_spec_key
JOIN rounding_spec AS js ON js.spec_key = o.judged_spec_key
JOIN verdict AS v USING (verdict)
;
CREATE VIEW v_head_rms AS
SELECT
  c.case_id, r.run_id, r.run_order, r.started_at, o.suite, c.kernel, o.arch, c.dtype, c.batch,
  c.heads_q, o.verdict,
  length(o.head_rms) / 4 AS heads, o.head_rms_max, o.head_rms_max_sample, o.head_rms_max_head,
  (WITH RECURSIVE
    word(i, digits) AS (
      SELECT 0, hex(substr(o.head_rms, 1, 4)) WHERE length(o.head_rms) > 0
      UNION ALL SELECT i + 1, hex(substr(o.head_rms, 4 * i + 5, 4)) FROM word
        WHERE 4 * i + 8 <= length(o.head_rms)),
    bits(i, b) AS (
      SELECT i,
        (instr('123456789ABCDEF', substr(digits, 7, 1)) << 28)
          | (instr('123456789ABCDEF', substr(digits, 8, 1)) << 24)
        | (instr('123456789ABCDEF', substr(digits, 5, 1)) << 20)
          | (instr('123456789ABCDEF', substr(digits, 6, 1)) << 16)
        | (instr('123456789ABCDEF', substr(digits, 3, 1)) << 12)
          | (instr('123456789ABCDEF', substr(digits, 4, 1)) << 8)
        | (instr('123456789ABCDEF', substr(digits, 1, 1)) << 4)
          | instr('123456789ABCDEF', substr(digits, 2, 1))
      FROM word),
    number(i, exponent, fraction) AS (SELECT i, ((b >> 23) & 255) - 127,
      1.0 + (b & 8388607) / 8388608.0 FROM bits)
   SELECT json_group_array(CASE
     WHEN exponent = 128 THEN NULL
     WHEN exponent > 60 THEN 1e18
     WHEN exponent < -60 THEN 0.0
     WHEN exponent >= 0 THEN round(fraction * (1 << exponent), 6)
     ELSE round(fraction / (1 << -exponent), 6) END)
   FROM number) AS head_rms
FROM outcome AS o
JOIN run AS r USING (run_id)
JOIN attention_case AS c USING (case_key);
CREATE VIEW v_latest AS
WITH newest AS MATERIALIZED (
  SELECT c.case_id AS newest_case, o.run_id AS newest_run, o.suite AS newest_suite,
    max(r.run_order || ' ' || o.suite)
  FROM outcome AS o JOIN run AS r USING (run_id) JOIN attention_case AS c USING (case_key)
  GROUP BY c.series_key, o.machine_key, o.provider_options)
SELECT h.* FROM newest CROSS JOIN v_history AS h
WHERE h.case_id = newest_case AND h.run_id = newest_run AND h.suite = newest_suite;
CREATE VIEW v_regressions AS
WITH failure AS (
  SELECT
    o.rowid AS failed,
    (SELECT p.rowid
     FROM attention_case AS pc JOIN outcome AS p ON p.case_key = pc.case_key
       JOIN run AS pr ON pr.run_id = p.run_id
     JOIN verdict AS pv ON pv.verdict = p.verdict
     WHERE pc.series_key = oc.series_key AND p.machine_key = o.machine_key
       AND p.provider_options = o.provider_options AND pr.run_order < r.run_order
       AND p.status = 'ok'
       AND p.judge_version = o.judge_version AND p.reference_version = o.reference_version
         AND p.inputs_version = o.inputs_version
       AND (pv.is_baseline AND pr.finished_at IS NOT NULL
         AND NOT (p.verdict = 'first_seen' AND EXISTS (
          SELECT 1
          FROM attention_case AS ec JOIN outcome AS e ON e.case_key = ec.case_key
            JOIN run AS er ON er.run_id = e.run_id
          JOIN verdict AS ev ON ev.verdict = e.verdict
          WHERE ec.series_key = pc.series_key AND e.machine_key = p.machine_key
            AND e.provider_options = p.provider_options AND er.run_order < pr.run_order
            AND er.finished_at IS NOT NULL AND ev.is_baseline AND e.status = 'ok'
              AND e.judge_version = p.judge_version
            AND e.reference_version = p.reference_version AND e.inputs_version = p.inputs_version))
         OR EXISTS (SELECT 1 FROM accepted_case AS a WHERE a.run_id = p.run_id
           AND a.case_key = p.case_key))
     ORDER BY pr.run_order DESC, p.suite LIMIT 1) AS previous
  FROM outcome AS o JOIN run AS r USING (run_id) JOIN verdict AS v ON v.verdict = o.verdict
  JOIN attention_case AS oc ON oc.case_key = o.case_key
  WHERE v.is_failure)
SELECT
  c.case_id, o.provider_options,
  m.device_kind || ' ' || m.machine_arch || ' ' || m.model AS machine,
  lower(hex(m.machine_key)) AS machine_class,
  r.run_id, r.run_order, r.started_at, r.code_commit, o.suite, o.case_group, o.tier, c.kernel,
  c.dtype, c.layout, c.mask, o.arch,
  o.status, o.verdict, EXISTS (SELECT 1 FROM accepted_case AS a WHERE a.run_id = o.run_id
  AND a.case_key = o.case_key) AS accepted,
  o.reason, o.findings, o.percent_of_limit, o.nearest_statistic, o.rms, o.peak, o.time_ratio,
  o.output_digest, b.build_id, o.location_description, o.cause, o.looser_rung,
  pr.run_id AS previous_run_id,
  pr.started_at AS previous_started_at, pr.code_commit AS previous_commit,
  p.verdict AS previous_verdict, p.percent_of_limit AS previous_percent_of_limit,
  p.rms AS previous_rms, p.peak AS previous_peak, p.time_ratio AS previous_time_ratio,
  p.output_digest AS previous_output_digest, pb.build_id AS previous_build_id,
  (SELECT min(fr.run_order)
   FROM attention_case AS fc JOIN outcome AS f ON f.case_key = fc.case_key
     JOIN run AS fr ON fr.run_id = f.run_id
   JOIN verdict AS fv ON fv.verdict = f.verdict
   WHERE fc.series_key = c.series_key AND f.machine_key = o.machine_key
     AND f.provider_options = o.provider_options AND fv.is_failure
     AND fr.run_order <= r.run_order
     AND fr.run_order > coalesce(pr.run_order, '')) AS failing_since
FROM failure
JOIN outcome AS o ON o.rowid = failed
JOIN run AS r ON r.run_id = o.run_id
JOIN machine_class AS m ON m.machine_key = o.machine_key
JOIN attention_case AS c ON c.case_key = o.case_key
JOIN build AS b ON b.build_key = o.build_key
LEFT JOIN outcome AS p ON p.rowid = previous
LEFT JOIN run AS pr ON pr.run_id = p.run_id
LEFT JOIN build AS pb ON pb.build_key = p.build_key;
CREATE VIEW v_coverage AS
WITH newest AS MATERIALIZED (
  SELECT o.case_key AS newest_case, o.run_id AS newest_run, o.suite AS newest_suite,
    max(r.run_order)
  FROM outcome AS o JOIN run AS r USING (run_id)
  GROUP BY o.case_key, o.machine_key, o.provider_options, o.suite)
SELECT
  o.suite, c.kernel, o.arch, c.dtype, c.mask, c.layout,
  count(DISTINCT o.case_key) AS cases, count(*) AS outcomes,
  sum(NOT v.is_failure AND o.verdict NOT IN ('unsupported', 'ambiguous', 'unconfirmed')) AS fine,
  sum(v.is_failure) AS failures,
  sum(o.verdict = 'unsupported') AS unsupported,
  sum(o.verdict = 'ambiguous') AS ambiguous,
  sum(o.verdict = 'unconfirmed') AS unconfirmed,
  sum(o.timed) AS timed,
  max(r.started_at) AS last_started_at
FROM newest
CROSS JOIN outcome AS o ON o.case_key = newest_case AND o.run_id = newest_run
  AND o.suite = newest_suite
JOIN run AS r ON r.run_id = o.run_id
JOIN attention_case AS c ON c.case_key = o.case_key
JOIN verdict AS v ON v.verdict = o.verdict
GROUP BY o.suite, c.kernel, o.arch, c.dtype, c.mask, c.layout;
CREATE VIEW v_support AS
SELECT
  kernel, arch, dtype, kv_dtype, out_dtype, layout, mask,
  CASE sum(status = 'unsupported') WHEN 0 THEN 'supported' WHEN count(*) THEN 'unsupported'
    ELSE 'mixed' END AS support,
  sum(status <> 'unsupported') AS cases_supported,
  sum(status = 'unsupported') AS cases_unsupported,
  group_concat(DISTINCT CASE WHEN status = 'unsupported' THEN reason END) AS reasons
FROM v_latest
GROUP BY kernel, arch, dtype, kv_dtype, out_dtype, layout, mask;
CREATE VIEW v_diffs AS
SELECT
  d.run_id, r.run_order, r.started_at, r.code_commit,
  m.device_kind || ' ' || m.machine_arch || ' ' || m.model AS machine,
  lower(hex(m.machine_key)) AS machine_class, d.judge_version, d.reference_version,
    d.inputs_version,
  d.suite, d.name, d.tier, d.expect, d.case_a, d.case_b, d.status, d.verdict, v.is_failure,
  d.reason, d.percent_of_limit, d.nearest_statistic, d.findings, d.notes, d.compared_rows,
  d.elements, d.max_abs, d.mean_abs, d.max_rel, d.mean_rel, d.max_sigma, d.max_ulp,
  d.max_rel_expected, d.rms_output, d.max_abs_sample, d.max_abs_head, d.max_abs_row,
  d.max_abs_column, d.max_rel_sample, d.max_rel_head, d.max_rel_row, d.max_rel_column,
  d.bit_equal_share, d.heads, d.heads_bit_equal, d.per_head, d.rms_a, d.rms_b,
  nullif(d.time_ns_a, 0.0) AS time_ns_a, nullif(d.time_ns_b, 0.0) AS time_ns_b
FROM diff AS d
JOIN run AS r USING (run_id)
JOIN machine_class AS m USING (machine_key)
JOIN verdict AS v USING (verdict);
CREATE VIEW v_crossover AS
WITH side AS (
  SELECT
    d.run_id, d.suite, d.name, ca.dtype, ca.mask, ca.padding, ca.batch, ca.kernel AS kernel_a,
    cb.kernel AS kernel_b,
    max(ca.seq_q, ca.seq_kv) AS seq, d.time_ns_a, d.time_ns_b,
      oa.peak_memory_bytes AS peak_memory_bytes_a,
    ob.peak_memory_bytes AS peak_memory_bytes_b, d.time_ns_b < d.time_ns_a AS b_is_faster
  FROM diff AS d
  JOIN attention_case AS ca ON ca.case_id = d.case_a
  JOIN attention_case AS cb ON cb.case_id = d.case_b
  LEFT JOIN outcome AS oa ON oa.run_id = d.run_id AND oa.suite = d.suite
    AND oa.case_key = ca.case_key
  LEFT JOIN outcome AS ob ON ob.run_id = d.run_id AND ob.suite = d.suite
    AND ob.case_key = cb.case_key
  WHERE d.status = 'ok' AND d.time_ns_a > 0 AND d.time_ns_b > 0),
compared AS (
  SELECT *, first_value(b_is_faster) OVER by_length_down AS b_is_faster_at_longest FROM side
  WINDOW by_length_down AS (PARTITION BY run_id, suite, name, dtype, mask, padding, batch,
    kernel_a, kernel_b ORDER BY seq DESC)),
lost AS (
  SELECT *, max(CASE WHEN b_is_faster <> b_is_faster_at_longest
    THEN seq END) OVER everywhere AS longest_lost FROM compared
  WINDOW everywhere AS (PARTITION BY run_id, suite, name, dtype, mask, padding, batch, kernel_a,
    kernel_b))
SELECT
  l.run_id, r.run_order, r.started_at, r.code_commit, l.suite, l.name, l.dtype, l.mask, l.padding,
  l.batch, l.kernel_a, l.kernel_b, l.seq,
  l.time_ns_a, l.time_ns_b, l.time_ns_a / l.time_ns_b AS time_ratio, l.peak_memory_bytes_a,
  l.peak_memory_bytes_b,
  CASE WHEN l.b_is_faster THEN l.kernel_b ELSE l.kernel_a END AS faster,
  CASE WHEN l.b_is_faster_at_longest THEN l.kernel_b ELSE l.kernel_a END AS faster_at_longest,
  min(CASE WHEN l.seq > coalesce(l.longest_lost, -1) THEN l.seq END) OVER (
    PARTITION BY l.run_id, l.suite, l.name, l.dtype, l.mask, l.padding, l.batch, l.kernel_a,
      l.kernel_b) AS crossover_seq
FROM lost AS l JOIN run AS r USING (run_id);
CREATE VIEW v_suite_scores AS
SELECT s.run_id, r.run_order, r.started_at, r.code_commit, s.suite, s.kernel, s.dtype, s.statistic,
  s.cases, s.value, s.limit_value, s.status
FROM suite_score AS s JOIN run AS r USING (run_id);
CREATE VIEW v_invariances AS
SELECT
  i.run_id, r.run_order, r.started_at, r.code_commit,
  m.device_kind || ' ' || m.machine_arch || ' ' || m.model AS machine,
  lower(hex(m.machine_key)) AS machine_class, i.judge_version, i.suite, i.tier, c.case_id,
    c.kernel, c.device, c.dtype, c.layout, c.mask,
  i.invariance, i.promise,
  CASE WHEN i.status <> 'ok' THEN NULL WHEN i.other_bits = 0 THEN 'bitwise'
    WHEN i.sigmas <= i.limit_value THEN 'rounding' ELSE 'beyond' END
    AS agreement,
  i.status, i.verdict, v.is_failure, i.reason, i.calls, i.calls_refused, i.elements, i.other_bits,
  i.statistic, i.sample, i.head, i.row_index, i.column_index, i.value_a, i.value_b, i.sigmas,
  i.limit_value, i.ulps, i.problem_a, i.problem_b, i.percent_of_limit, i.findings, i.notes,
  i.wall_ms
FROM invariance AS i
JOIN run AS r USING (run_id)
JOIN machine_class AS m USING (machine_key)
JOIN attention_case AS c USING (case_key)
JOIN verdict AS v USING (verdict);
CREATE VIEW v_accepted AS
SELECT a.run_id, a.case_glob, a.accepted_by, a.reason, a.accepted_at, c.case_id
FROM accept AS a JOIN accepted_case AS k USING (accept_key)
  JOIN attention_case AS c USING (case_key);
CREATE VIEW v_pinned AS
SELECT p.run_id, p.case_glob, p.pinned_by, p.reason, p.pinned_at, c.case_id
FROM pin AS p JOIN pinned_case AS k USING (pin_key) JOIN attention_case AS c USING (case_key);
CREATE VIEW v_changes AS
SELECT
  x.run_id, r.run_order, r.started_at, r.code_commit, x.suite, x.case_id, x.kind, x.value,
  x.limit_value, x.explanation, x.is_failure,
  EXISTS (SELECT 1 FROM accepted_case AS a JOIN attention_case AS c USING (case_key)
    WHERE a.run_id = x.run_id AND c.case_id = x.case_id)
    AS accepted
FROM run_change AS x JOIN run AS r USING (run_id);
CREATE VIEW v_resources AS
SELECT
  k.run_id, r.run_order, r.started_at, r.code_commit, k.source, k.kernel, k.launch, k.arch,
  k.toolkit, k.threads, k.registers, k.stack_bytes,
  k.spill_store_bytes + k.spill_load_bytes AS spill_bytes, k.spill_store_bytes, k.spill_load_bytes,
  k.static_shared_bytes + coalesce(k.dynamic_shared_bytes, 0) AS shared_bytes,
  k.static_shared_bytes, k.dynamic_shared_bytes, k.constant_bytes, k.barriers, k.active_warps,
  k.most_warps,
  1.0 * k.active_warps / k.most_warps AS occupancy, k.limited_by, k.tensor_cores,
  k.predicted_registers, k.predicted_shared_bytes, k.verdict, k.why
FROM kernel_resources AS k JOIN run AS r USING (run_id);
COMMIT;
PRAGMA application_id = 1886154082; PRAGMA user_version = 11;
