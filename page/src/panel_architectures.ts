// Kernels by architecture: percent of the limits, and verdicts.
import { data_table } from "./data_table.ts";
import { label_of } from "./dimensions.ts";
import { empty, h, short, type Child } from "./dom.ts";
import { mark, percent } from "./format.ts";
import { grid_legend, matrix_grid } from "./matrix_grid.ts";
import type { Page } from "./page.ts";
import { section } from "./parts.ts";
import { crossed, outlook_of, type Summary } from "./summary.ts";

interface Line {
  kernel: string;
  arch: string;
  summary: Summary;
  verdicts: string; // "12 pass, 1 fail"
}

function lines_of(page: Page): Line[] {
  const { cases } = page.model;
  const crossing = crossed(cases, cases.all(), "kernel", "arch");
  const verdicts = new Map<string, Map<string, number>>();
  for (const row of cases.all()) {
    const key = `${cases.text("kernel", row)}\n${cases.text("arch", row)}`;
    if (!verdicts.has(key)) verdicts.set(key, new Map());
    const of_key = verdicts.get(key)!;
    const verdict = cases.text("verdict", row).replaceAll("_", " ");
    of_key.set(verdict, (of_key.get(verdict) ?? 0) + 1);
  }
  return crossing.downs.flatMap((kernel) => crossing.acrosses.flatMap((arch) => {
    const summary = crossing.at(kernel, arch);
    const counted = verdicts.get(`${kernel}\n${arch}`);
    if (summary === undefined || counted === undefined) return [];
    const text = [...counted].sort((a, b) => b[1] - a[1]).map(([name, n]) => `${n} ${name}`);
    return [{ kernel, arch, summary, verdicts: text.join(", ") }];
  }));
}

export function architectures_panel(page: Page): Child {
  const { cases } = page.model;
  const crossing = crossed(cases, cases.all(), "kernel", "arch");
  if (crossing.downs.length === 0)
    return [h("h1", { tabindex: -1 }, "Architectures"),
      empty("The run has no cases. This command runs CUDA kernels on emulated tensor " +
        "cores:", "plumbline run cases/corners_emulated.toml")];
  const link = (kernel: string, arch: string) => page.link({ panel: "cases", query: "", filters: [
    { column: "kernel", value: kernel }, { column: "arch", value: arch }] });
  return [
    h("h1", { tabindex: -1 }, "Architectures"),
    section("Worst % of the limit by kernel and architecture",
      grid_legend(),
      matrix_grid(crossing, {
        label: "Worst percent of the limit by kernel and architecture",
        counts: true,
        link: (filters) => page.link({ panel: "cases", query: "", filters }),
      }),
      crossing.acrosses.length === 1 && h("p", { class: "small-print" },
        `All cases ran on ${label_of(crossing.acrosses[0])}. Architectures that this machine ` +
        "lacks are emulated by: ", h("code", null, "plumbline run cases/corners_emulated.toml"))),
    section("Verdicts", data_table({
      label: "Verdicts by kernel and architecture",
      rows: lines_of(page),
      columns: [
        { name: "kernel", show: ({ kernel, arch }) =>
            h("a", { href: link(kernel, arch) }, short(kernel, 80)) },
        { name: "arch", title: "architecture", key: ({ arch }) => label_of(arch) },
        { name: "state", key: ({ summary }) => outlook_of(summary),
          show: ({ summary }) => mark(outlook_of(summary), outlook_of(summary)) },
        { name: "worst", title: "worst % of limit", key: ({ summary }) => summary.worst,
          format: percent },
        { name: "cases", numeric: true, key: ({ summary }) => summary.cases },
        "verdicts",
      ],
    })),
  ];
}
