import { html, type Content, type Html } from "./html.ts";
import { showField, showValue } from "./show-value.ts";

/** Rows and columns that are shown of a table; what there is more is said to be in report.json. */
const MOST_ROWS = 80;
const MOST_COLUMNS = 14;

type Row = Record<string, Content>;

const isRecord = (data: unknown): data is Record<string, unknown> => typeof data === "object" && data !== null && !Array.isArray(data);

const isPlain = (data: unknown): boolean => typeof data !== "object" || data === null;

function showPlain(data: unknown): string {
  if (typeof data === "number" || data === null || data === undefined) return showValue(data);
  return typeof data === "string" || typeof data === "boolean" ? String(data) : JSON.stringify(data);
}

const showShort = (data: unknown): string => {
  const list = data as unknown[];
  return list.length <= 12 && list.every(isPlain) ? list.map(showPlain).join(", ") : `${list.length} entries, in report.json`;
};

/** Fields of fields beside one another: `{turnMs: {p50: 1}}` is a column "turn ms p50". */
function toRow(data: unknown, prefix = ""): Row {
  if (Array.isArray(data)) return { [prefix || "values"]: showShort(data) };
  if (!isRecord(data)) return { [prefix || "value"]: showPlain(data) };
  return Object.assign({}, ...Object.entries(data).map(([name, field]) => toRow(field, `${prefix} ${showField(name)}`.trim()))) as Row;
}

function table(name: string, entries: readonly unknown[]): Html {
  const rows = entries.slice(0, MOST_ROWS).map((entry) => toRow(entry));
  const all = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const columns = all.slice(0, MOST_COLUMNS);
  const isCut = entries.length > MOST_ROWS || all.length > MOST_COLUMNS;
  const cut = `${rows.length} of ${entries.length} rows, ${columns.length} of ${all.length} columns; all are in report.json`;
  return html`<div class="scrolls" tabindex="0" role="region" aria-label="${name}">
    <table>
      <caption>
        ${name}${isCut ? ` (${cut})` : ""}
      </caption>
      <thead>
        <tr>
          ${columns.map((column) => html`<th scope="col">${column}</th>`)}
        </tr>
      </thead>
      <tbody>
        ${rows.map(
          (row) =>
            html`<tr>
              ${columns.map((column) => html`<td>${row[column]}</td>`)}
            </tr>`,
        )}
      </tbody>
    </table>
  </div>`;
}

/** Whatever a bench keeps, as tables: lists of things by row, single values together, the rest under headings of their own. */
export function genericData(data: Record<string, unknown>, prefix = ""): Html {
  const parts: Html[] = [];
  const single: [string, unknown][] = [];
  for (const [field, content] of Object.entries(data)) {
    const name = `${prefix} ${showField(field)}`.trim();
    if (Array.isArray(content) && content.some((entry) => !isPlain(entry))) parts.push(...listOf(name, content));
    else if (isRecord(content) && Object.values(content).some((inner) => !isPlain(inner))) parts.push(genericData(content, name));
    else single.push([name, content]);
  }
  const facts = single.flatMap(([name, content]) => Object.entries(toRow(content, name)));
  const list = html`<dl>
    ${facts.map(
      ([name, content]) =>
        html`<div>
          <dt>${name}</dt>
          <dd>${content}</dd>
        </div>`,
    )}
  </dl>`;
  return html`${facts.length > 0 ? list : ""}${parts}`;
}

/** A list of things that hold lists themselves is a group for each of them; any other is one table. */
function listOf(name: string, entries: readonly unknown[]): Html[] {
  const holdsLists = (entry: unknown): boolean =>
    isRecord(entry) && Object.values(entry).some((field) => Array.isArray(field) && field.some((one) => !isPlain(one)));
  if (!entries.some(holdsLists)) return [table(name, entries)];
  return entries.flatMap((entry, index) => {
    if (!isRecord(entry)) return [table(name, [entry])];
    const title = Object.values(entry).find((field) => typeof field === "string") ?? String(index + 1);
    return [genericData(entry, `${name} ${title}:`)];
  });
}
