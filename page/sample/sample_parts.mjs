// Pieces of the made-up report: pictures of errors, and the stories.

const bins = 41;

function density(sigma) {
  const values = Array.from({ length: bins }, (_, i) =>
    Math.exp(-0.5 * (((i - 20) / 4) / sigma) ** 2));
  const sum = values.reduce((a, b) => a + b, 0);
  return values.map((value) => value / sum);
}

export function picture_of(one, is_broken, random) {
  const elements = one.batch * one.heads_q * one.seq_q * one.head_dim_vo;
  const size = Math.max(0.2, Math.min(1, one.rms));
  const four = (value) => Number(value.toPrecision(4));
  const expected = density(is_broken ? 0.8 : size).map((part) => four(part * elements));
  const permitted = density(1).map((part) => four(part * elements));
  const spread = expected.map((value) => 3.5 * Math.sqrt(value + 1) * 2);
  const low = expected.map((value, i) => four(Math.max(0, value - spread[i])));
  const high = expected.map((value, i) => four(value + spread[i]));
  const histogram = expected.map((value, i) => {
    const count = Math.max(0, Math.round(value + (random() - 0.5) * spread[i] * 0.8));
    return is_broken && (i < 9 || i > 31) ? Math.round(elements * 0.004 * (1 + random())) : count;
  });
  const map_rows = Math.min(16, one.seq_q), map_columns = 16;
  const map = Array.from({ length: map_rows * map_columns }, (_, i) => {
    const row = Math.floor(i / map_columns);
    if (is_broken && i === 5) return -1;
    if (row === 0 && i === 9) return null;
    const base = 1.5 + 2.5 * random();
    return four(is_broken && row >= map_rows - 2 ? base * 80 : base);
  });
  return {
    histogram, expected, permitted, low, high,
    outside: histogram.filter((value, i) => value < low[i] || value > high[i]).length,
    map_rows, map_columns, map, rows: one.seq_q, columns: one.head_dim_vo,
  };
}

export function story_list() {
  return [
    { id: "S1", title: "FlashAttention, two paths, one answer?",
      source: "flash-attention issue 1569",
      figures: [
        { what: "largest |A - B|", theirs: "0.125", ours: "0.125 (2.44 sigma, 6.5 are legal)" },
        { what: "mean |A - B|", theirs: "about 1e-5", ours: "8.5e-4 at outputs in [16, 32)" },
      ],
      cases: [0, 1], diffs: [0, 1] },
    { id: "S2", title: "FlashInfer, bf16 and a ragged KV cache", source: "FlashInfer issue 882",
      figures: [{ what: "outside allclose 1e-3", theirs: "fails",
                  ours: "52 %, and right: 36 % of the limit" }],
      cases: [4], diffs: [] },
    { id: "S3", title: "FlashAttention-2 against SDPA with a padding mask", source:
      "Transformers issue 36585", figures: [], cases: [], diffs: [] },
    { id: "S4", title: "FlashInfer, tensor cores on and off", source: "FlashInfer issue 703",
      figures: [{ what: "time on", theirs: "1.276 ms", ours: "" },
                { what: "time off", theirs: "1.595 ms", ours: "" }],
      cases: [6], diffs: [] },
    { id: "S5", title: "DeepScaleR, fp32 meets FlashAttention-2", source: "rllm issue 11",
      figures: [{ what: "fp32 on a 16-bit kernel", theirs: "an error in the middle of a run",
                  ours: "unsupported, with its reason" }], cases: [7], diffs: [] },
  ];
}
