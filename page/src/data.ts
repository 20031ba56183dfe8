// What the page is made from: `plumbline report` writes it into the file (gzip, base64), and
// `plumbline serve` gives it at /api/report. harness/report/page_data.h writes it.

// A column of a table: numbers (null: not measured), or texts by number of a list of words.
export interface NumberColumn {
  name: string;
  numbers: (number | null)[];
}
export interface WordColumn {
  name: string;
  words: string[];
  places: number[]; // in words; -1: none
}
export type Column = NumberColumn | WordColumn;

// Never green: "open" (unconfirmed, ambiguous, suspect) and "nothing measured".
export type State = "fine" | "not fine" | "open" | "nothing measured" | "incomplete";
export type Outlook = "fine" | "failure" | "open" | "unmeasured";

// Cases that are one piece of news: one kernel, verdict and cause.
export interface Group {
  kind: "broken" | "slower" | "faster" | "coverage" | "open";
  title: string; // the cause in words, first
  kernel: string;
  dtype: string; // "" = several
  arch: string; // likewise
  verdict: string;
  cases: number[]; // rows of the table of cases, the lead first; may be empty (vanished cases)
  names: string[]; // of what is no row: vanished cases, diffs, invariances, suite statistics
  since: string; // last commit before; "" = not known, or no past
  commit: string; // first commit with it; "" = not known
  since_night: number; // place in nights since which the lead is as it is; -1 = not known
  text: string; // one sentence about the lead
}

// A night, or a run that is part of none; the newest last.
export interface Night {
  name: string; // "2027-01-30", or the first 8 digits of a run's id
  run_ids: string[];
  started_at: string;
  commit: string;
  state: State; // the worst of its runs
  exit_code: number;
  fine: number;
  failures: number;
  open: number;
  unmeasured: number;
  suspect: boolean;
  shift: number; // of all times together, 0.01 = 1 %
  why: string; // why it is suspect
  events: { kind: string; at: string; who: string; detail: string }[];
}

// What somebody decided: accept, pin or acknowledge.
export interface Decision {
  kind: "accept" | "pin" | "acknowledge";
  night: number; // place in nights; -1 = before them
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

// Everything of a case that is not fine, or near its limit.
export interface Detail {
  row: number; // of the table of cases
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
    column: number; // -1: the LSE
    got: number | null; // null: no number
    expected: number | null;
    sigma: number;
    ulp: number;
    visible_keys: number;
    shares: [string, number][]; // of sigma^2, by rounding, largest first
  };
  picture: null | {
    histogram: number[]; // [41], of e / sigma, bin i about (i - 20) / 4
    expected: number[]; // [41], as the declared roundings lead to, at this kernel's own size
    permitted: number[]; // [41], likewise as large as they may be
    low: number[]; // [41], band of 99 of 100 correct outputs about `expected`
    high: number[]; // [41]
    outside: number; // bins outside the band
    map_rows: number;
    map_columns: number;
    map: (number | null)[]; // largest |e| / sigma; null: nothing compared, -1: no number
    rows: number; // of the longest sample
    columns: number; // of the output
  };
  // rms of each (sample, head), sample by sample; null: no number, -1: nothing compared
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
  // One entry a night in which the case ran, oldest first.
  history: {
    night: number[];
    percent: (number | null)[]; // of the limit of its error
    rms: (number | null)[];
    ratio: (number | null)[]; // time over the sentinel's
    level: (number | null)[];
    limit: (number | null)[];
    set_aside: boolean[]; // the time is not judged: the night or the case was disturbed
    verdict: string[];
    outlook: Outlook[]; // of the verdict
    changes: number[]; // places in `night` at which the level of the time changes
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

// One of the five stories: what was reported then, and what the newest run of its suite says.
export interface Story {
  id: string; // "S1"
  title: string;
  source: string; // of the figures
  figures: { what: string; theirs: string; ours: string }[];
  cases: number[]; // rows of the table of cases
  diffs: number[]; // places in diffs
}

// What `plumbline audit` found: which planted bugs the cases catch, and which legal kernels they
// flag.
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
  changed: number; // runs in which its output differs from that of the right kernel
  caught: boolean;
  by: string; // the statistic that catches it
  first_case: string;
  fault: string;
  diagnosed: string;
  reviewed: string | null; // why it may survive; null: it is caught, or nobody has said
}

export interface Report {
  schema: 1;
  made_at: string; // ISO 8601, UTC
  plumbline: { version: string; commit: string };
  database: string; // its file name
  live: boolean; // whether /api/case gives the details that are not here
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
  sentence: string; // the one that stands in Markdown and in the terminal, too
  counts: { cases: number; fine: number; failures: number; open: number; unmeasured: number };
  groups: Group[]; // most important first
  nights: Night[]; // at most 60; the last one is the subject where it is a night or run
  decisions: Decision[];
  times: string[]; // sentences on the gate of times
  // The cases, words: case_id, machine, suite, case_group, tier, kernel, device, arch,
  // tensor_cores, dtype, kv_dtype, out_dtype, mask, layout, padding, lengths, law, status, verdict,
  // outlook, cause, nearest_statistic; numbers: batch, heads_q, heads_kv, seq_q, seq_kv,
  // head_dim_qk, head_dim_vo, percent_of_limit (1e15: no number, or without bound), rms, peak,
  // time_ns, time_ratio, gate_change, wall_ms.
  rows: number;
  cases: Column[];
  details: Detail[];
  diffs: Diff[];
  invariances: Invariance[];
  scores: { suite: string; kernel: string; dtype: string; statistic: string; cases: number;
            value: number | null; limit: number | null; status: string }[];
  support: { kernel: string; arch: string; dtype: string; mask: string; layout: string;
             support: "supported" | "unsupported" | "mixed"; reasons: string }[];
  // Of another run, night or commit that A is compared with; null: nothing was named.
  other: null | { label: string; commit: string; cases: Column[]; rows: number };
  stories: Story[];
  audit: null | Audit; // null: none was named
}

// /api/case?row=N of a live page.
export type CaseAnswer = Detail;
