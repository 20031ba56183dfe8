// The page's data. `plumbline report` writes them into the file (gzip, base64); `plumbline serve`
// returns them from /api/report. Written by harness/report/page_data.h.

// A column of a table: numbers (null: not measured), or indices of its distinct words.
export interface NumberColumn {
  name: string;
  numbers: (number | null)[];
}
export interface WordColumn {
  name: string;
  words: string[];
  places: number[]; // index of the row's word; -1: none
}
export type Column = NumberColumn | WordColumn;

// "open" (unconfirmed, ambiguous, suspect) and "nothing measured" are never shown as fine.
export type State = "fine" | "not fine" | "open" | "nothing measured" | "incomplete";
export type Outlook = "fine" | "failure" | "open" | "unmeasured";

// An issue: cases of one kernel with the same verdict and cause.
export interface Group {
  kind: "broken" | "slower" | "faster" | "coverage" | "open";
  title: string; // the cause in words
  kernel: string;
  dtype: string; // "" = several
  arch: string; // "" = several
  verdict: string;
  cases: number[]; // rows of the table of cases, the lead (worst) first; empty for vanished cases
  names: string[]; // results without a row: vanished cases, diffs, invariances, suite statistics
  since: string; // the baseline's commit; "" = unknown, or no past
  commit: string; // the commit of this run; "" = unknown
  since_night: number; // index of the lead's first bad night; -1 = unknown
  text: string; // a sentence about the lead
}

// A night, or a run outside of nights.
export interface Night {
  name: string; // "2027-01-30", or the first 8 digits of a run's id
  run_ids: string[];
  started_at: string;
  commit: string;
  state: State; // the state of its worst run
  exit_code: number;
  fine: number;
  failures: number;
  open: number;
  unmeasured: number;
  suspect: boolean;
  shift: number; // common change of all times, 0.01 = 1 %
  why: string; // why it is suspect
  events: { kind: string; at: string; who: string; detail: string }[];
}

// A user's decision: accept, pin or acknowledge.
export interface Decision {
  kind: "accept" | "pin" | "acknowledge";
  night: number; // index of the night; -1 = not among `nights`
  glob: string;
  who: string;
  why: string;
  at: string;
}

export interface Finding {
  statistic: string;
  value: number | null;
  limit: number | null;
  text: string;
}

// The details of a case that is not fine or is near its limit.
export interface Detail {
  row: number; // in the table of cases
  findings: Finding[];
  notes: string[];
  limits: Record<string, number>; // by statistic
  errors: Record<string, number | null>;
  reason: string;
  location: string;
  looser_rung: string;
  worst: null | {
    statistic: string;
    sample: number;
    head: number;
    row: number;
    column: number; // -1 - i: row output i of harness/problem/outputs.h
    got: number | null; // null: NaN or infinity
    expected: number | null;
    sigma: number;
    ulp: number;
    visible_keys: number;
    shares: [string, number][]; // shares of sigma^2 by rounding, largest first
  };
  picture: null | {
    histogram: number[]; // [41], counts of e / sigma; bin i is centred at (i - 20) / 4
    expected: number[]; // [41], expected from the declared roundings and this kernel's rms
    permitted: number[]; // [41], the same for the largest permitted rms
    low: number[]; // [41], band around `expected` for 99 of 100 correct outputs
    high: number[]; // [41]
    outside: number; // bins outside the band
    map_rows: number;
    map_columns: number;
    map: (number | null)[]; // largest |e| / sigma; null: nothing compared, -1: NaN or infinity
    rows: number; // in the longest sample
    columns: number; // in the output
  };
  // rms of each (sample, head), sample-major; null: NaN or infinity, -1: nothing compared
  heads: (number | null)[];
  heads_per_sample: number;
  contract: { policy: string; promises: string; spec: string; declared: string };
  launched: { what: string; build: string; tensor_cores: string; registers: number | null;
              spills: number | null; shared_bytes: number | null };
  time: null | {
    ns: number;
    mad_ns: number;
    ratio: number;
    finding: string;
    level: number | null;
    limit: number | null;
    change: number | null;
    confirmation: string;
    fresh: number[];
  };
  reproduce: string; // a command
  saved_to: string;
  // The nights with the case, oldest first; one entry each.
  history: {
    night: number[];
    percent: (number | null)[]; // error as percent of its limit
    rms: (number | null)[];
    ratio: (number | null)[]; // time / sentinel time
    level: (number | null)[];
    limit: (number | null)[];
    set_aside: boolean[]; // the time is not judged: the night or the case was disturbed
    verdict: string[];
    outlook: Outlook[]; // for the verdict
    changes: number[]; // indices in `night` at which the level of the time changes
  };
}

export interface Diff {
  suite: string;
  name: string;
  case_a: string;
  case_b: string;
  verdict: string;
  outlook: Outlook;
  text: string;
  max_abs: number | null;
  mean_abs: number | null;
  max_rel: number | null;
  max_sigma: number | null;
  bit_equal_share: number | null;
  rms_a: number | null;
  rms_b: number | null;
  time_ns_a: number | null;
  time_ns_b: number | null;
  percent_of_limit: number | null;
}

export interface Invariance {
  suite: string;
  case_id: string;
  invariance: string;
  promise: string;
  agreement: string; // bitwise, rounding, beyond; "" = nothing was compared
  verdict: string;
  outlook: Outlook;
  text: string;
}

// One of the five stories: the figures reported upstream, and this run's.
export interface Story {
  id: string; // "S1"
  title: string;
  source: string; // where the figures were reported
  figures: { what: string; theirs: string; ours: string }[];
  cases: number[]; // rows of the table of cases
  diffs: number[]; // indices in `diffs`
}

// Result of `plumbline audit`: mutants that the cases catch, and legal kernels that they flag.
export interface Audit {
  suites: string[];
  problems: number;
  runs: number;
  exit_code: number;
  diagnoses: Record<string, number>; // mutants by how their fault was named
  dtypes: { dtype: string; mutants: number; caught: number; slip_allclose_1e2: number;
            legal_kernels: number; legal_flagged: number; legal_runs: number;
            false_alarms: number }[];
  mutants: AuditedMutant[];
  legal: { kernel: string; dtype: string; runs: number; false_alarms: number; first_case: string;
           why: string }[];
}
export interface AuditedMutant {
  name: string;
  class: string;
  what: string;
  dtype: string;
  runs: number;
  changed: number; // runs whose output differs from the correct kernel's
  caught: boolean;
  by: string; // the statistic that catches it
  first_case: string;
  fault: string;
  diagnosed: string;
  reviewed: string | null; // why its survival is accepted; null: caught, or not reviewed
}

export interface Report {
  schema: 1;
  made_at: string; // ISO 8601, UTC
  plumbline: { version: string; commit: string };
  database: string; // file name
  live: boolean; // /api/case returns details of the other cases
  subject: {
    kind: "run" | "night" | "commit";
    label: string;
    run_ids: string[];
    started_at: string;
    commit: string;
    machines: string[];
    exit_code: number;
    command: string; // "plumbline run cases/nightly.toml"
  };
  state: State;
  sentence: string; // also shown in Markdown
  counts: { cases: number; fine: number; failures: number; open: number; unmeasured: number };
  groups: Group[]; // most important first
  nights: Night[]; // at most 60, oldest first; the last is the subject if that is a night or run
  decisions: Decision[];
  times: string[]; // sentences about gated times
  // The cases. Words: case_id, machine, suite, case_group, tier, kernel, device, arch,
  // tensor_cores, dtype, kv_dtype, out_dtype, mask, layout, padding, lengths, law, status, verdict,
  // outlook, cause, nearest_statistic. Numbers: batch, heads_q, heads_kv, seq_q, seq_kv,
  // head_dim_qk, head_dim_vo, percent_of_limit (1e15: NaN or infinite), rms, peak, time_ns,
  // time_ratio, gate_change, wall_ms.
  rows: number;
  cases: Column[];
  details: Detail[];
  diffs: Diff[];
  invariances: Invariance[];
  scores: { suite: string; kernel: string; dtype: string; statistic: string; cases: number;
            value: number | null; limit: number | null; status: string }[];
  support: { kernel: string; arch: string; dtype: string; mask: string; layout: string;
             support: "supported" | "unsupported" | "mixed"; reasons: string }[];
  // The run, night or commit to compare with; null: none was named.
  other: null | { label: string; commit: string; cases: Column[]; rows: number };
  stories: Story[];
  audit: null | Audit; // null: none was named
}

// The answer of /api/case?row=N.
export type CaseAnswer = Detail;
