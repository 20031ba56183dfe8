// Names of the error statistics (harness/outcome/statistics_table.h).
import type { Detail } from "./data.ts";
import { number, percent, share } from "./format.ts";

const names: Record<string, readonly [title: string, unit: string]> = {
  peak: ["peak", "sigma"],
  beyond_output: ["beyond output rounding", "sigma"],
  rms: ["rms", "sigma"],
  lse_z: ["LSE", "sigma"],
  lse: ["LSE", "sigma"],
  max_logit_z: ["largest logit", "sigma"],
  max_logit: ["largest logit", "sigma"],
  elsewhere: ["rows without a reference", "sigma"],
  bound: ["largest |e| / worst-case bound", ""],
  max_abs: ["largest |e|", "absolute"],
  mean_abs: ["mean |e|", "absolute"],
  max_rel: ["largest |e| / |expected|", ""],
  max_ulp: ["largest |e|", "ulp of the output"],
  lse_max_abs: ["largest |e| of the LSE", "absolute"],
  max_logit_max_abs: ["largest |e| of the largest logit", "absolute"],
  shrink_z: ["shrink", "sigma"],
  temperature_z: ["temperature", "sigma"],
  outside_allclose_1e3: ["outside allclose 1e-3", "share"],
  outside_allclose_1e2: ["outside allclose 1e-2", "share"],
};

export function statistic_name(column: string): string {
  return names[column]?.[0] ?? column.replaceAll("_", " ");
}

function value_text(column: string, value: number | null): string {
  if (value === null) return "no number";
  const unit = names[column]?.[1] ?? "";
  return unit === "share" ? share(value) : `${number(value)} ${unit}`.trim();
}

// Returns name, value, limit and percent of the limit for each statistic that decides.
export function deciding_statistics({ errors, limits }: Detail): string[][] {
  return Object.keys(errors).filter((column) => column in limits).map((column) => {
    const [value, limit] = [errors[column] ?? null, limits[column]];
    const name = statistic_name(column);
    const is_beyond = value === null || Math.abs(value) > limit;
    const part = value === null ? "no number" : percent((100 * Math.abs(value)) / limit);
    return [name, value_text(column, value), value_text(column, limit),
      `${is_beyond ? "\u2715 " : ""}${part}`];
  });
}

// Returns name and value of the statistics without a limit, which decide nothing.
export function other_statistics({ errors, limits }: Detail): string[][] {
  return Object.keys(errors).filter((column) => !(column in limits)).map((column) =>
    [statistic_name(column), value_text(column, errors[column] ?? null)]);
}
