/** Three figures are enough to compare; whole numbers from 1,000 on have separators. A dash where there is nothing. */
export function showValue(value: number | null | undefined): string {
  if (value === null || value === undefined || !Number.isFinite(value)) return "–";
  if (Number.isInteger(value) || Math.abs(value) >= 1_000) return Math.round(value).toLocaleString("en");
  return value.toLocaleString("en", { maximumSignificantDigits: 3 });
}

/** "1 Nov 2026, 03:04 UTC"; the text itself when it is no date. */
export function showDate(iso: string): string {
  const date = new Date(iso);
  if (Number.isNaN(date.getTime())) return iso;
  const options = { dateStyle: "medium", timeStyle: "short", timeZone: "UTC" } as const;
  return `${new Intl.DateTimeFormat("en-GB", options).format(date)} UTC`;
}

/** "rows", "turnMs" → "turn ms": the names of fields as words. */
export const showField = (name: string): string => name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, " ").toLowerCase();
