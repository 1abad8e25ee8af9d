import { cleanValue } from "./clean-value.ts";
import type { ReadValues } from "./fact-rule.ts";

const MONTH =
  /jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?/i;

const list = (value: string | null): string[] => (value === null ? [] : [value]);

/** A day of the year. */
export const dayOfYear: ReadValues = (caught) =>
  caught.length <= 24 && /\d/.test(caught) && (MONTH.test(caught) || /^\d{1,2}[/.-]\d{1,2}/.test(caught)) ? list(cleanValue(caught)) : [];

export const year: ReadValues = (caught) => (/^(?:19|20)\d\d$/.test(caught) ? [caught] : []);

export const age: ReadValues = (caught) => (Number(caught) >= 5 && Number(caught) <= 110 ? [caught] : []);

/** Whatever the expression of the rule has caught, if it may be stored. */
export const asCaught: ReadValues = (caught) => list(cleanValue(caught));

/** One of a few words, given as alternatives of an expression. */
export function oneOf(alternatives: string): ReadValues {
  const expression = new RegExp(`^(?:${alternatives})$`, "iu");
  return (caught) => (expression.test(caught) ? list(cleanValue(caught)) : []);
}

/** An occupation in words of the user's own, without what they add to it. */
export const ownOccupation: ReadValues = (caught) =>
  /\b(?:without|who|that|which|and|but|while|so|where|part|kind|bit|lot)\b/i.test(caught) ? [] : list(cleanValue(caught));

/** Everything the slot holds. */
export const whatever: ReadValues = () => [""];
