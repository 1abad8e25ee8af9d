import { html, type Content, type Html } from "./html.ts";

/** Heading of a column; numbers stand to the right. */
export interface Column {
  name: string;
  isNumber?: boolean;
}

export const text = (...names: string[]): Column[] => names.map((name) => ({ name }));
export const numbers = (...names: string[]): Column[] => names.map((name) => ({ name, isNumber: true }));

/** A table that scrolls by itself where it is wider than the page, by keyboard too. `label` is its name for a screen reader, default the caption. */
export function scrollTable(caption: string, columns: readonly Column[], rows: Content, label = caption): Html {
  return html`<div class="scrolls" tabindex="0" role="region" aria-label="${label}">
    <table>
      <caption>
        ${caption}
      </caption>
      <thead>
        <tr>
          ${columns.map(({ name, isNumber }) => (isNumber ? html`<th scope="col" class="number">${name}</th>` : html`<th scope="col">${name}</th>`))}
        </tr>
      </thead>
      <tbody>
        ${rows}
      </tbody>
    </table>
  </div>`;
}
