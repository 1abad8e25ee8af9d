import { contradicts, speaksAgainst } from "./contradicts.ts";
import type { CoreLine } from "./core-lines.ts";
import type { Fact } from "./fact.ts";
import { keyOf } from "./key-of.ts";
import { readLineOf } from "./read-line.ts";
import { SLOTS } from "./slots.ts";

const NEGATION = /\b(?:not|no|never|dislikes?|hates?|without|stopped)\b|n't\b|不|没|讨厌|别/iu;

/** The line itself, what is left of its list, or null when all it says is contradicted. */
function withoutContradicted(line: CoreLine, fact: Fact): CoreLine | null {
  for (const read of readLineOf(line.section, line.text)) {
    const left = read.items.filter(({ key }) => !contradicts(read, key, fact));
    if (left.length === 0) return null;
    if (left.length < read.items.length) return { ...line, text: read.rewrite(left.map(({ value }) => value)) };
  }
  return line;
}

/** The line says the fact, in the words of a rule or, where several values stand side by side, in any that contain the value. */
function says(line: CoreLine, fact: Fact): boolean {
  const reads = readLineOf(line.section, line.text);
  const same = reads.some(
    (read) =>
      read.slot === fact.slot &&
      read.about === fact.about &&
      read.polarity === fact.polarity &&
      read.items.some(({ key }) => key === fact.key),
  );
  if (same || reads.length > 0 || SLOTS[fact.slot].holds === "one" || fact.polarity !== "yes" || fact.key.length < 2) return same;
  if (line.section !== SLOTS[fact.slot].section || NEGATION.test(line.text) !== NEGATION.test(fact.text)) return false;
  const isHan = /\p{Script=Han}/u.test(fact.key);
  return isHan ? line.text.includes(fact.key) : ` ${keyOf(line.text)} `.includes(` ${fact.key} `);
}

/**
 * The lines after one fact: what it contradicts goes, and it takes that place or the last one. A fact of an older message changes nothing
 * that is known and is not added where something known speaks against it.
 */
export function applyFact(lines: CoreLine[], fact: Fact, onlyAdd: boolean): CoreLine[] {
  const { section } = SLOTS[fact.slot];
  if (onlyAdd) {
    const against = lines.some((line) =>
      readLineOf(line.section, line.text).some((read) => read.items.some(({ key }) => speaksAgainst(read, key, fact))),
    );
    if (against || fact.polarity === "over") return lines;
  }
  const left = lines.map((line) => withoutContradicted(line, fact));
  const isKnown = left.some((line) => line !== null && says(line, fact));
  if (fact.polarity === "over" || isKnown) return left.filter((line) => line !== null);
  const place = left.findIndex((line, index) => line === null && lines[index]?.section === section);
  const added: CoreLine = { section, text: fact.text, isOld: false };
  return (place < 0 ? [...left, added] : left.with(place, added)).filter((line) => line !== null);
}
