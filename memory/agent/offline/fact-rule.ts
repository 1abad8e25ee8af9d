import type { Fact } from "./fact.ts";
import type { Slot } from "./slots.ts";

/** The values in what a rule has caught, none when it is nothing of the kind; `isCasual` when the message is written without capitals. */
export type ReadValues = (caught: string, isCasual: boolean) => string[];

/** One way of saying one kind of fact: a clause that fits `when` as a whole gives a fact for each value. */
export interface FactRule {
  slot: Slot;
  polarity: Fact["polarity"];
  /** Catches `value`, and what else the text names. */
  when: RegExp;
  /** The line with {value} and other names of groups; "" for what is over. */
  text: string;
  values: ReadValues;
}

type Row = [slot: Slot, when: string, text: string, values: ReadValues, polarity?: Fact["polarity"]];

/** Rules of one language from a table, one line for each; `pattern` makes an expression of the words in the first column. */
export function makeRules(pattern: (words: string) => RegExp, rows: Row[]): FactRule[] {
  return rows.map(([slot, when, text, values, polarity]) => ({
    slot,
    when: pattern(when),
    text,
    values,
    polarity: polarity ?? (text === "" ? "over" : "yes"),
  }));
}
