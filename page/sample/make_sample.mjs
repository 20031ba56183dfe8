// Makes up a report, as plumbline would write one, to develop the page with. Nothing of it was
// measured.
//
//   node sample/make_sample.mjs [CASES] [--nothing] [--json FILE] [-o PAGE] [--template PAGE]
//
// CASES: 300 by default, at most 10,000. --nothing: a night of refused cases. Without --json and -o
// it writes dist/sample.json and, where dist/page.html is, dist/sample.html.
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { picture_of, story_list } from "./sample_parts.mjs";

const folder = join(dirname(fileURLToPath(import.meta.url)), "..");
const given = process.argv.slice(2);
const option = (name) => (given.includes(name) ? given[given.indexOf(name) + 1] : undefined);
const rows = Math.min(10_000, Number(given.find((text) => /^\d+$/.test(text)) ?? 300));
const nothing = given.includes("--nothing");

// mulberry32: the same report every time.
let seed = 20270130;
function random() {
  seed = (seed + 0x6d2b79f5) | 0;
  let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
  t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
  return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
}
const pick = (list) => list[Math.floor(random() * list.length)];
const normal = () => Math.sqrt(-2 * Math.log(random() + 1e-12)) * Math.cos(2 * Math.PI * random());
const digits = (value) => (value === null ? null : Number(value.toPrecision(4)));
const hex = (n) => Array.from({ length: n }, () => pick([..."0123456789abcdef"])).join("");

const kernels = ["cpu/flash", "cpu/flash_p32", "cpu/flash_unpad", "cpu/flash_attended", "cpu/naive",
  "cpu/split_kv", "cpu/split_kv_16", "cpu/flash_denominator", "emulated/mma_flash",
  "emulated/mma_split", "torch/sdpa_flash", "<script>alert(1)</script>"];
const dtypes = ["fp32", "fp16", "bf16", "e4m3"];
const machine = "cpu x86-64-v3 AMD EPYC 9B14, 2 threads";

// ---- nights
const nights = Array.from({ length: 60 }, (_, i) => {
  const day = new Date(Date.UTC(2026, 11, 2 + i));
  const bad = i >= 56 ? 3 + (i - 56) : i === 31 ? 1 : 0;
  const unmeasured = Math.round(rows * (i === 12 ? 1 : 0.13));
  const open = i === 20 ? 2 : 0;
  const suspect = i === 12 || i === 40;
  return {
    name: day.toISOString().slice(0, 10),
    run_ids: [hex(32)],
    started_at: day.toISOString().replace("00:00:00.000", "02:14:07"),
    commit: hex(40),
    exit_code: i === 12 ? 4 : bad > 0 ? 1 : 0,
    state: i === 12 ? "nothing measured" : bad > 0 ? "not fine" : "fine",
    fine: Math.max(0, rows - unmeasured - bad - open),
    failures: i === 12 ? 0 : bad,
    open: i === 12 ? 0 : open,
    unmeasured,
    suspect,
    shift: suspect ? 0.061 : digits(0.002 * normal()),
    why: suspect ? "all times together are 6.1 % longer than those of the nights before" : "",
    events: i === 31 ? [{ kind: "accept", at: "2027-01-02T09:12:00Z", who: "mk",
      detail: "cpu/split_kv*: the new order of parts, reviewed" }] : [],
  };
});
nights.forEach((night, i) => { if (i > 0 && i % 3 !== 0) night.commit = nights[i - 1].commit; });

// ---- cases
const last_key = "would be explained if each sample's last key were not seen: off by one";
const planted = {
  2: { kernel: "cpu/flash", dtype: "bf16", verdict: "fail", cause: last_key },
  3: { kernel: "cpu/flash", dtype: "bf16", verdict: "fail", cause: last_key },
  5: { kernel: "cpu/split_kv", dtype: "fp16", verdict: "fail",
       cause: "the sums are kept in fp16: errors grow with the number of keys" },
  8: { kernel: "emulated/mma_flash", dtype: "fp16", verdict: "crashed",
       cause: "the worker died of signal 11 (segmentation fault) in the kernel" },
  11: { kernel: "cpu/flash_p32", dtype: "fp16", verdict: "regressed", slow: 0.083,
        cause: "8.3 % slower than the level of 41 nights, confirmed by 3 fresh processes" },
  14: { kernel: "<script>alert(1)</script>", dtype: "bf16", verdict: "error",
        cause: `"><img src=x onerror=alert(2)> said the kernel, and 'quotes' & "more"` },
  17: { kernel: "torch/sdpa_flash", dtype: "bf16", verdict: "ambiguous",
        cause: "fresh processes disagree: 2 of 3 find a larger error than before" },
};
const refused = "FlashAttention only supports fp16 and bf16";
const cases = Array.from({ length: rows }, (_, i) => {
  const plant = nothing ? undefined : planted[i];
  const kernel = plant?.kernel ?? kernels[i % (kernels.length - 1)];
  const dtype = plant?.dtype ?? dtypes[Math.floor(i / 11) % dtypes.length];
  const emulated = kernel.startsWith("emulated/");
  const arch = emulated ? `emulated:${pick(["sm_80", "sm_89", "sm_90", "sm_100"])}` : "x86-64-v3";
  const mask = pick(["none", "causal_bottom_right", "causal_top_left"]);
  const layout = pick(["padded_bshd", "ragged", "paged_nhd"]);
  const [seq_q, seq_kv, head_dim] = [pick([1, 64, 129]), pick([127, 300, 1500]), pick([64, 128])];
  const [heads_q, heads_kv, batch] = [8, pick([1, 2, 8]), pick([1, 3, 5])];
  const law = pick(["normal", "llm", "peaky", "sink"]);
  const is_refused = nothing ||
    (!plant && ((dtype === "fp32" && /flash$|unpad|attended/.test(kernel)) ||
                (dtype === "e4m3" && !emulated)));
  const fine = random() < 0.01 ? "first seen" : "pass";
  const verdict = plant?.verdict ?? (is_refused ? "unsupported" : fine);
  const ran = !is_refused && verdict !== "crashed" && verdict !== "error";
  const percent = !ran ? null
    : plant && verdict === "fail" ? 900 + 5000 * random() : 15 + 60 * random() ** 2;
  const timed = ran && (i % 4 === 3 || plant?.slow !== undefined);
  const rms = percent === null ? null : (percent / 100) * 1.35;
  const shape = `b${batch}-h${heads_q}x${heads_kv}-s${seq_q}x${seq_kv}-d${head_dim}`;
  const bad = verdict === "ambiguous" ? "open" : "failure";
  const id = `${kernel}/${dtype}/${shape}` +
    (mask === "none" ? "" : `/mask=${mask}`) +
    (layout === "padded_bshd" ? "" : `/layout=${layout}`) +
    (law === "normal" ? "" : `/law=${law}`) + (emulated ? `/device=${arch}` : "") +
    (rows > 1000 ? `/seed=${i}` : "");
  return {
    case_id: id, machine, suite: "nightly", case_group: pick(["padded_matrix", "paged_matrix"]),
    tier: "nightly", kernel, device: emulated ? arch : "cpu", arch,
    tensor_cores: emulated ? "on" : "none", dtype, kv_dtype: dtype, out_dtype: dtype, mask, layout,
    padding: "right", lengths: pick(["full", "random"]), law,
    status: ran ? "ok" : verdict, verdict,
    outlook: is_refused ? "unmeasured" : plant ? bad : "fine",
    cause: plant?.cause ?? (is_refused ? refused : ""),
    nearest_statistic: ran ? pick(["rms", "peak", "lse"]) : "",
    batch, heads_q, heads_kv, seq_q, seq_kv, head_dim_qk: head_dim, head_dim_vo: head_dim,
    percent_of_limit: digits(percent), rms: digits(rms),
    peak: digits(rms === null ? null : rms * 4.3),
    time_ns: timed ? digits((1 + random()) * seq_kv * 300) : null,
    time_ratio: timed ? digits(0.5 + seq_kv / 600) : null,
    gate_change: timed ? digits(plant?.slow ?? 0.004 * normal()) : null,
    wall_ms: digits(20 + 60 * random()),
  };
});

const columns = Object.keys(cases[0]).map((name) => {
  if (typeof cases[0][name] !== "string") return { name, numbers: cases.map((one) => one[name]) };
  const words = [...new Set(cases.map((one) => one[name]))];
  const places = new Map(words.map((word, i) => [word, i]));
  return { name, words, places: cases.map((one) => places.get(one[name])) };
});

// ---- details
function history_of(one, row) {
  const first = planted[row] ? 0 : row % 17;
  const list = { night: [], percent: [], rms: [], ratio: [], level: [], limit: [], verdict: [],
                 outlook: [], set_aside: [], changes: [] };
  const bad_from = planted[row] ? 56 : 99;
  for (let night = first; night < 60; ++night) {
    if (night === 12) continue;
    const bad = night >= bad_from && !nothing;
    const base = 30 + (row % 20);
    const percent = bad && one.verdict !== "regressed" ? one.percent_of_limit : base + normal();
    const level = one.time_ratio;
    list.night.push(night);
    list.percent.push(digits(percent));
    list.rms.push(digits(percent === null ? null : (percent / 100) * 1.35));
    list.ratio.push(level === null ? null
      : digits(level * (1 + 0.006 * normal() + (bad ? planted[row].slow ?? 0 : 0))));
    list.level.push(digits(level));
    list.limit.push(digits(level === null ? null : level * 1.03));
    list.set_aside.push(night === 30 && level !== null);
    list.outlook.push(bad ? one.outlook : "fine");
    list.verdict.push(bad ? one.verdict : night === first ? "first seen" : "pass");
  }
  if (one.verdict === "regressed") list.changes.push(list.night.indexOf(56));
  return list;
}

function detail_of(one, row) {
  const plant = planted[row];
  const ran = one.status === "ok";
  const heads = ran ? Array.from({ length: one.batch * one.heads_q }, (_, i) =>
    plant?.verdict === "fail" && i === 2 ? null
      : digits(one.rms * (plant?.verdict === "fail" && i % 3 ? 0.1 : 0.9 + 0.2 * random()))) : [];
  return {
    row,
    findings: plant ? [{ statistic: "rms", value: one.rms, limit: 1.35,
      text: plant.verdict === "fail" ? `rms is ${one.rms}, its limit 1.35` : plant.cause }] : [],
    notes: row % 5 === 0 ? ["lse=absent: denominator and exp2 errors could not be seen"] : [],
    limits: ran ? { peak: 6.5, rms: 1.35, beyond_output: 6.5, lse_z: 6 } : {},
    errors: ran ? { peak: one.peak, rms: one.rms, beyond_output: digits(one.peak * 0.8),
      lse_z: digits(one.peak * 0.4), max_abs: 0.0547, outside_allclose_1e3: 0.52 } : {},
    reason: row === 14 ? "the kernel said: " + "a very long reason <b>&amp; ".repeat(40_000) : "",
    location: plant?.verdict === "fail"
      ? "edge: the last visible key weighs too little (z = -1101.5), 95 % of the squared error " +
        "in head 2 of sample 0" : "",
    looser_rung: "",
    worst: ran ? { statistic: "beyond output rounding", sample: 0, head: 2, row: 0, column: 5,
      got: 0.159179688, expected: 0.104361914, sigma: 0.000201, ulp: 0.000488,
      visible_keys: one.seq_kv,
      shares: [["P rounding", 0.51], ["output rounding", 0.46], ["accumulation", 0.03]] } : null,
    picture: ran ? picture_of(one, plant?.verdict === "fail", random) : null,
    heads,
    heads_per_sample: one.heads_q,
    contract: { policy: "zeros", promises: "run to run, batch, prefill = decode",
      spec: "FlashAttention-2", declared: "P to the dtype of Q, fp32 accumulation" },
    launched: { what: `${one.kernel} tile 32x64 fp32 accumulate`, build: hex(16),
      tensor_cores: one.tensor_cores,
      registers: one.device === "cpu" ? null : 182, spills: one.device === "cpu" ? null : 0,
      shared_bytes: one.device === "cpu" ? null : 69630 },
    time: one.time_ns === null ? null : { ns: one.time_ns, mad_ns: digits(one.time_ns * 0.004),
      ratio: one.time_ratio, finding: plant?.slow ? "slower" : "quiet",
      level: digits(one.time_ratio / (1 + (plant?.slow ?? 0))),
      limit: digits((one.time_ratio / (1 + (plant?.slow ?? 0))) * 1.03), change: one.gate_change,
      confirmation: plant?.slow ? "confirmed" : "",
      fresh: plant?.slow ? [1.08, 1.082, 1.085].map((by) => digits(by * one.time_ratio)) : [] },
    reproduce: `plumbline run --case '${one.case_id.replaceAll("'", "'\\''")}'`,
    saved_to: "",
    history: history_of(one, row),
  };
}
const not_fine = cases.map((_, row) => row).filter((row) =>
  cases[row].outlook === "failure" || cases[row].outlook === "open");
const near = cases.map((_, row) => row).filter((row) => cases[row].outlook === "fine")
  .sort((a, b) => cases[b].percent_of_limit - cases[a].percent_of_limit).slice(0, 200);
const details = [...not_fine, ...near].sort((a, b) => a - b)
  .map((row) => detail_of(cases[row], row));

// ---- news
const group = (kind, rows_of, more = {}) => ({ kind, title: cases[rows_of[0]].cause,
  kernel: cases[rows_of[0]].kernel, dtype: cases[rows_of[0]].dtype, arch: "",
  verdict: cases[rows_of[0]].verdict, cases: rows_of, names: [], since: nights[55].commit,
  commit: nights[56].commit, since_night: 56, text: "rms is 48.69, its limit 1.35", ...more });
const groups = nothing ? [] : [
  group("broken", [2, 3]), group("broken", [8]), group("broken", [5]), group("broken", [14]),
  group("slower", [11], { text: "8.3 % slower than the level of 41 nights" }),
  group("open", [17]),
  { kind: "coverage", title: "no longer measured: 12 cases of group paged_matrix",
    kernel: "cpu/naive", dtype: "bf16", arch: "", verdict: "vanished", cases: [],
    names: Array.from({ length: 12 }, (_, i) =>
      `cpu/naive/bf16/b${i + 1}-h8x2-s1x500-d64/layout=paged_nhd`),
    since: nights[58].commit, commit: nights[59].commit, since_night: 59,
    text: "the newest run lacks them, and no suite names them" },
  { kind: "faster", title: "12 % faster than the level of 41 nights", kernel: "cpu/split_kv",
    dtype: "", arch: "", verdict: "improved", cases: [19], names: [], since: "",
    commit: nights[59].commit, since_night: -1, text: "" },
];
const counted = (outlook) => cases.filter((one) => one.outlook === outlook).length;
const counts = { cases: rows, fine: counted("fine"), failures: counted("failure"),
                 open: counted("open"), unmeasured: counted("unmeasured") };
const diff = (name, a, b, more) => ({ suite: "s1_prefill_vs_decode", name, case_a: a, case_b: b,
  verdict: "pass", outlook: "fine", text: "rounding: what both declare explains the difference: " +
  "at most 2.44 of its standard deviations, 6.5 are legal", max_abs: 0.125, mean_abs: 0.0008545,
  max_rel: 0.005348, max_sigma: 2.442, bit_equal_share: 0.75, rms_a: 0.41, rms_b: 0.38,
  time_ns_a: 1.276e6, time_ns_b: 1.595e6, percent_of_limit: 38, ...more });
const short_commit = (night) => nights[night].commit.slice(0, 7);
const report = {
  schema: 1,
  made_at: "2027-01-30T03:02:11Z",
  plumbline: { version: "0.9.0", commit: hex(40) },
  database: "history.db",
  live: false,
  subject: { kind: "night", label: "night 2027-01-30", run_ids: nights[59].run_ids,
    started_at: "2027-01-30T02:14:07Z", commit: nights[59].commit, machines: [machine],
    exit_code: nothing ? 4 : 1, command: "plumbline run cases/nightly.toml cases/timed.toml" },
  state: nothing ? "nothing measured" : "not fine",
  sentence: nothing ? `Nothing measured: nothing measured in ${rows} cases.`
    : `Not fine: ${counts.failures} failures in ${rows} cases; ${last_key} (2 cases of ` +
      `cpu/flash, since ${short_commit(55)}..${short_commit(56)}), and 4 more causes. ` +
      `${counts.unmeasured} cases were not measured.`,
  counts,
  groups,
  nights,
  decisions: [
    { kind: "accept", night: 31, glob: "cpu/split_kv*", who: "mk", why: "the new order of parts",
      at: "2027-01-02T09:12:00Z" },
    { kind: "pin", night: 22, glob: "*", who: "ci", why: "release 0.8",
      at: "2026-12-24T03:00:00Z" },
    { kind: "acknowledge", night: 58, glob: "cpu/flash/bf16/*", who: "jo",
      why: "issue 41, until 6 February", at: "2027-01-29T08:00:00Z" },
  ],
  times: nothing ? [] : [`times on ${machine}: 75 gated, 2 candidates asked in 3 fresh processes ` +
    "each, 1 confirmed as slower; 0.0004 false alerts expected"],
  rows,
  cases: columns,
  details,
  diffs: nothing ? [] : [
    diff("last_rows", cases[0].case_id, cases[1].case_id),
    diff("outputs_in_16_32", cases[2].case_id, cases[6].case_id, {
      verdict: "fail", outlook: "failure",
      text: "beyond what both declare: 41 of its standard deviations, 6.5 are legal", max_sigma: 41,
      percent_of_limit: 631 }),
  ],
  invariances: nothing ? [] : ["run_to_run", "solo", "position", "chunked_prefill",
    "prefill_decode", "page_order"].map((invariance, i) => ({
      suite: "invariances", case_id: cases[i].case_id, invariance,
      promise: i % 2 ? "bitwise" : "rounding",
      agreement: i === 4 ? "beyond" : i % 2 ? "bitwise" : "rounding",
      verdict: i === 4 ? "fail" : "pass", outlook: i === 4 ? "failure" : "fine",
      text: i === 4 ? "3 of 512 elements differ by 9.1 sigma" : "" })),
  scores: [{ suite: "nightly", kernel: "cpu/flash", dtype: "bf16", statistic: "shrink", cases: 80,
             value: 10.5, limit: 3.5, status: "fail" },
           { suite: "nightly", kernel: "cpu/naive", dtype: "bf16", statistic: "temperature",
             cases: 80, value: 1.2, limit: 3.5, status: "pass" }],
  support: kernels.flatMap((kernel) => dtypes.map((dtype) => ({ kernel, arch: "x86-64-v3", dtype,
    mask: "none", layout: "padded_bshd",
    support: dtype === "e4m3" ? "unsupported" : dtype === "fp32" ? "mixed" : "supported",
    reasons: dtype === "e4m3" || dtype === "fp32" ? refused : "" }))),
  other: null,
  stories: story_list(random),
  audit: null,
};

mkdirSync(join(folder, "dist"), { recursive: true });
const json = JSON.stringify(report);
const name = nothing ? "nothing" : rows === 300 ? "sample" : `sample_${rows}`;
const json_path = option("--json") ?? join(folder, `dist/${name}.json`);
writeFileSync(json_path, json);
console.log(`${json_path}: ${json.length} bytes`);
const template_path = option("--template") ?? join(folder, "dist/page.html");
if (existsSync(template_path)) {
  const data = gzipSync(json, { level: 9 }).toString("base64");
  const page = readFileSync(template_path, "utf8").replace("@PLUMBLINE_DATA@", () => data);
  const path = option("-o") ?? join(folder, `dist/${name}.html`);
  writeFileSync(path, page);
  console.log(`${path}: ${Buffer.byteLength(page)} bytes, of which data ${data.length}`);
} else {
  console.log(`${template_path} is not there: no page was written; remedy: node build.mjs`);
}
