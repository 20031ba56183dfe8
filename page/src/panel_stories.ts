// The five stories: the figures reported upstream next to this run's.
import type { Story } from "./data.ts";
import { plain_table } from "./data_table.ts";
import { clipped, empty, h, short, type Child } from "./dom.ts";
import { mark, plural } from "./format.ts";
import type { Page } from "./page.ts";
import { diffs_table } from "./panel_invariances.ts";
import { case_list, section } from "./parts.ts";
import { in_words, outlook_of, summed } from "./summary.ts";

function story_card(page: Page, story: Story): HTMLElement {
  const { cases, report } = page.model;
  const rows = story.cases.filter((row) => row >= 0 && row < cases.rows);
  const diffs = story.diffs.map((place) => report.diffs[place])
    .filter((diff) => diff !== undefined);
  const summary = summed(cases, rows);
  return section(`${story.id}: ${story.title}`,
    h("p", { class: "small-print" }, "Reported in: ", clipped(story.source, 300)),
    story.figures.length === 0
      ? empty("No figure of this story was measured in this run. Its suite:",
          `plumbline run cases/stories/${story.id.toLowerCase()}_*.toml`)
      : plain_table(`Figures of ${story.id}`, ["figure", "as reported", "here"],
          story.figures.map(({ what, theirs, ours }) =>
            [what, clipped(theirs, 300), ours === "" ? "not measured" : clipped(ours, 300)])),
    rows.length > 0 && h("p", null, mark(outlook_of(summary), in_words(summary))),
    rows.length > 0 && h("details", null,
      h("summary", null, `Its ${plural(rows.length, "case")}`),
      case_list(page, rows.slice(0, 100))),
    diffs.length > 0 && diffs_table(page, diffs, `Diffs of ${short(story.id, 20)}`));
}

export function stories_panel(page: Page): Child {
  const { stories } = page.model.report;
  return [
    h("h1", { tabindex: -1 }, "Stories"),
    h("p", null, "Five reports of attention kernels that disagreed. Each is a suite. The " +
      "tables show what was reported then, and the result of the suite's newest run."),
    stories.length === 0
      ? empty("No run of a story is in the database. This command runs all five:",
          "plumbline run cases/stories/*.toml")
      : stories.map((story) => story_card(page, story)),
  ];
}
