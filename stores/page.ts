import { validate as isUuid } from "uuid";
import { AppError } from "../errors/app-error.ts";

/** A place in a list ordered by `(created_at, id)`. */
export interface Cursor {
  createdAt: Date;
  id: string;
}

/** Whether it comes after a place in such a list. */
export function isBehind({ createdAt, id }: Cursor, point: Cursor): boolean {
  const later = createdAt.getTime() - point.createdAt.getTime();
  return later > 0 || (later === 0 && id > point.id);
}

/** At most `limit` items after the cursor, or from the start. */
export interface PageRequest {
  limit: number;
  after: Cursor | null;
}

/** A part of a list. */
export interface Page<Item> {
  items: Item[];
  /** Cursor of the next page; null at the end. */
  next: string | null;
}

/** A cursor as opaque text. */
export function encodeCursor({ createdAt, id }: Cursor): string {
  return Buffer.from(`${createdAt.toISOString()} ${id}`).toString("base64url");
}

/** Throws AppError `invalid_request` that names `field` for anything but a text from `encodeCursor`. */
export function decodeCursor(text: string, field = "after"): Cursor {
  const [time = "", id = ""] = Buffer.from(text, "base64url").toString().split(" ");
  const cursor = { createdAt: new Date(time), id };
  if (Number.isNaN(cursor.createdAt.getTime()) || !/^\d{4}-/.test(time) || !isUuid(id) || encodeCursor(cursor) !== text) {
    throw AppError.invalid([{ field, problem: `"${text.slice(0, 80)}" is not a cursor; pass the "next" of the page before, unchanged` }]);
  }
  return cursor;
}

export const MOST_PAGE_BYTES = 4 * 1024 * 1024;

export const jsonBytes = (value: unknown): number => Buffer.byteLength(JSON.stringify(value) ?? "");

/** The first items, at least one, that fit into a page together. */
export function fittingPage<Item>(items: readonly Item[], bytesOf: (item: Item) => number = jsonBytes): Item[] {
  let bytes = 0;
  const end = items.findIndex((item, index) => (bytes += bytesOf(item)) > MOST_PAGE_BYTES && index > 0);
  return end < 0 ? [...items] : items.slice(0, end);
}

/** Takes one row more than the limit. `nextOf` gives the cursor after a row. */
export function cutPage<Item>(rows: readonly Item[], limit: number, nextOf: (last: Item) => string): Page<Item> {
  const items = fittingPage(rows.slice(0, limit));
  const last = items.at(-1);
  return { items, next: rows.length > items.length && last ? nextOf(last) : null };
}

/** Cuts a page of a list ordered by `(created_at, id)`. */
export function toPage<Item extends Cursor>(rows: readonly Item[], limit: number): Page<Item> {
  return cutPage(rows, limit, encodeCursor);
}

/** The items after the cursor that fit, from a list that is read whole. */
export function pageBehind<Item extends Cursor>(all: readonly Item[], after: Cursor | null): Page<Item> {
  return toPage(after ? all.filter((item) => isBehind(item, after)) : all, Infinity);
}

/** The items after a name, from a list in any order. */
export function pageByName<Item>(all: readonly Item[], nameOf: (item: Item) => string, after = ""): Page<Item> {
  const behind = all.filter((item) => nameOf(item) > after);
  return cutPage(
    behind.toSorted((one, other) => (nameOf(one) < nameOf(other) ? -1 : 1)),
    Infinity,
    nameOf,
  );
}
