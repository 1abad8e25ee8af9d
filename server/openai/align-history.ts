import { withoutThoughts } from "../../text/split-thoughts.ts";
import type { PathMessage } from "../../stores/postgres/paths/path-ends.ts";

/** A message as a client has it. An assistant's text is "" where it only calls tools. */
export interface ShownMessage {
  role: "user" | "assistant";
  text: string;
  pictureCount: number;
}

/** The user's new message. `pictures`: their hashes or addresses. */
export interface AskedMessage {
  text: string;
  pictures: readonly string[];
}

export interface Alignment {
  /** The earlier messages of a request, oldest first. */
  shown: readonly ShownMessage[];
  asked: AskedMessage;
  /** Our path, oldest first. */
  kept: readonly PathMessage[];
  /** The message of `kept` before which others were not read; null: it is whole. */
  gapBefore: number | null;
  /** The client sends its earlier messages. */
  sendsHistory: boolean;
}

/** Where a turn leaves the path: new words after or before a message, or a question to answer again. Null: it does not. */
export type Departure = { behind: string } | { editOf: string } | { again: string } | null;

/** What front ends hide in an answer or keep to themselves. */
const FOLDED = [
  ["<details", "</details>"],
  ["<think>", "</think>"],
] as const;
/** Space and Markdown's marks: clients wrap lines, and draw tables and lists differently. */
const MARKS = /[\s*_`~#>|\\:+=-]+/gu;
const ENTITIES: Readonly<Record<string, string>> = { "&lt;": "<", "&gt;": ">", "&amp;": "&", "&quot;": '"', "&#39;": "'", "&nbsp;": " " };
const ENTITY = /&(?:lt|gt|amp|quot|#39|nbsp);/g;

const plain = (text: string): string => text.normalize("NFC").replaceAll(/\r\n?/g, "\n").trim();

/** Leaves out whole parts only, and walks each text once. */
function withoutFolded(text: string): string {
  return FOLDED.reduce((rest, [opening, closing]) => {
    const kept: string[] = [];
    let behind = 0;
    for (let start = rest.indexOf(opening); start >= 0; start = rest.indexOf(opening, behind)) {
      const end = rest.indexOf(closing, start);
      if (end < 0) break;
      kept.push(rest.slice(behind, start));
      behind = end + closing.length;
    }
    return [...kept, rest.slice(behind)].join("");
  }, text);
}

/** Equal for texts that say the same in any form. */
function keyOf(text: string): string {
  const said = withoutFolded(plain(text));
  return said.replaceAll(ENTITY, (entity) => ENTITIES[entity] ?? entity).replaceAll(MARKS, "") || said.replaceAll(/\s+/g, "");
}

const toShown = ({ role, text, pictures }: PathMessage): ShownMessage => ({ role, text, pictureCount: pictures.length });

/** A question and what follows until the next one. Null: it begins with an answer. */
interface Exchange {
  askedKey: string | null;
  answerKeys: string[];
  /** Places in the list of messages. */
  first: number;
  last: number;
}

function toExchanges(messages: readonly ShownMessage[], gapBefore: number | null = null): Exchange[] {
  const exchanges: Exchange[] = [];
  messages.forEach(({ role, text, pictureCount }, place) => {
    const key = keyOf(role === "assistant" ? withoutThoughts(text) : text);
    const current = exchanges.at(-1);
    if (role === "user") exchanges.push({ askedKey: key || `${pictureCount} pictures`, answerKeys: [], first: place, last: place });
    else if (current && place !== gapBefore) Object.assign(current, { answerKeys: [...current.answerKeys, key], last: place });
    else exchanges.push({ askedKey: null, answerKeys: [key], first: place, last: place });
  });
  return exchanges;
}

const BOTH = 4;
/** An answer of this length counts by itself: people and models often say "OK". */
const TELLING = 40;

/** How well two exchanges fit: 4 in question and answer, 2 in one of them, 1 in a short answer alone, 0 not at all. */
function fitOf(shown: Exchange, kept: Exchange): number {
  const sameQuestion = shown.askedKey !== null && shown.askedKey === kept.askedKey;
  const common = shown.answerKeys.find((key) => key !== "" && kept.answerKeys.includes(key));
  const sameAnswer = common !== undefined || (shown.answerKeys.length === 0 && kept.answerKeys.length === 0);
  if (sameQuestion) return sameAnswer ? BOTH : 2;
  if (common === undefined) return 0;
  return shown.askedKey === null || common.length >= TELLING ? 2 : 1;
}

const keysOf = ({ askedKey, answerKeys }: Exchange): string[] => [`asked ${askedKey}`, ...answerKeys.map((key) => `answered ${key}`)];

function placesByKey(kept: readonly Exchange[]): Map<string, number[]> {
  const places = new Map<string, number[]>();
  kept.forEach((exchange, place) => {
    for (const key of keysOf(exchange)) {
      const known = places.get(key);
      if (known) known.push(place);
      else places.set(key, [place]);
    }
  });
  return places;
}

/** The place in `kept` of the last exchange that is aligned in order; null when there is none, or several fit equally. */
function lastAligned(shown: readonly Exchange[], kept: readonly Exchange[]): number | null {
  const byKey = placesByKey(kept);
  // How much can be aligned when the last one is kept[place].
  const best = new Float64Array(kept.length);
  const fits = new Uint8Array(kept.length);
  for (const exchange of shown) {
    let last = -1;
    fits.fill(0);
    for (const place of keysOf(exchange).flatMap((key) => byKey.get(key) ?? [])) {
      const candidate = kept[place];
      if (candidate) fits[place] = fitOf(exchange, candidate);
      last = Math.max(last, place);
    }
    let mostBefore = 0;
    for (let place = 0; place <= last; place++) {
      const [so, fit] = [best[place] ?? 0, fits[place] ?? 0];
      if (fit > 0) best[place] = Math.max(so, mostBefore + fit);
      if (so > mostBefore) mostBefore = so;
    }
  }
  const most = best.reduce((one, other) => Math.max(one, other), 0);
  const place = best.indexOf(most);
  return most === 0 || place !== best.lastIndexOf(most) ? null : place;
}

/** Whether a client is at the end of a path: both last exchanges agree in question and answer. */
export function isAtEnd(shown: readonly ShownMessage[], kept: readonly PathMessage[]): boolean {
  const [theirs, ours] = [toExchanges(shown).at(-1), toExchanges(kept.map(toShown)).at(-1)];
  return theirs !== undefined && ours !== undefined && fitOf(theirs, ours) === BOTH;
}

const isSame = ({ text, pictures }: AskedMessage, kept: PathMessage): boolean =>
  plain(text) === plain(kept.text) && pictures.join("\n") === kept.pictures.join("\n");

/** Without earlier messages: a client that sends them stands at the beginning. */
function atBeginning({ asked, kept, gapBefore, sendsHistory }: Alignment): Departure {
  const [first] = kept;
  if (first?.role !== "user") return null;
  const isOnly = gapBefore === null && kept.length > 1 && kept.every(({ role }, place) => place === 0 || role === "assistant");
  if (isSame(asked, first)) return sendsHistory || isOnly ? { again: first.id } : null;
  return sendsHistory ? { editOf: first.id } : null;
}

/**
 * Where a client stands on our path, from the earlier messages it sends: docs/decisions/0085. In doubt at its end. The sent messages are
 * only compared.
 */
export function alignHistory(alignment: Alignment): Departure {
  const { shown, asked, kept, gapBefore } = alignment;
  if (shown.length === 0) return atBeginning(alignment);
  const exchanges = toExchanges(kept.map(toShown), gapBefore);
  const theirs = toExchanges(shown);
  const aligned = lastAligned(theirs, exchanges);
  const ours = aligned === null ? undefined : exchanges[aligned];
  if (!ours) return null;
  // Whatever follows an aligned question on either side is its answer.
  const theirAnswer = theirs.findLast((exchange) => fitOf(exchange, ours) > 0)?.answerKeys.length ?? 0;
  const place = theirAnswer > 0 ? ours.last : ours.first;
  const behind = kept.slice(place + 1);
  if (behind.every(({ role, completed }) => role === "assistant" && !completed)) return null;
  const next = behind.findIndex(({ role, completed }) => role === "user" || completed);
  // The rest was not read: the client has left out more than it sends, or the path goes on elsewhere.
  if (gapBefore !== null && place < gapBefore && place + 1 + next >= gapBefore) return null;
  const following = behind[next];
  if (following?.role === "user" && isSame(asked, following)) return { again: following.id };
  return { behind: kept[place]?.id ?? "" };
}
