// Loads the report from the HTML file, or from the server of the page.
import type { CaseAnswer, Report } from "./data.ts";

async function unzipped(base64: string): Promise<string> {
  const text = atob(base64);
  const bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Response(stream).text();
}

// The report's id. The server returns details for this report, or an error if it has been replaced.
let report_id = "";

async function json_of(path: string): Promise<unknown> {
  const answer = await fetch(path);
  if (!answer.ok) throw new Error((await answer.text()).trim() || `status ${answer.status}`);
  report_id = answer.headers.get("Plumbline-Report") ?? report_id;
  return answer.json();
}

export async function load_report(): Promise<Report> {
  const text = document.getElementById("report-data")?.textContent?.trim() ?? "";
  // "@" begins the placeholder of a template that was not filled; base64 has no "@".
  const report = (text === "" || text.startsWith("@")
    ? await json_of("/api/report")
    : JSON.parse(await unzipped(text))) as Report;
  if (report.schema !== 1)
    throw new Error(`the report has schema ${String(report.schema)}, and this page reads schema 1`);
  return report;
}

export async function load_case(row: number): Promise<CaseAnswer> {
  return (await json_of(`/api/case?row=${row}&report=${report_id}`)) as CaseAnswer;
}
