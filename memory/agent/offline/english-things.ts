import { cleanValue } from "./clean-value.ts";
import type { ReadValues } from "./fact-rule.ts";
import { isFoodKind } from "./food-kinds.ts";
import { keyOf } from "./key-of.ts";
import { splitThings } from "./split-things.ts";

/** A thing liked that begins so is what was just said or shown, or a person. */
const POINTS_BACK =
  /^(?:it|that|this|these|those|you|your|yours|u|him|his|her|hers|their|them|they|he|she|we|us|me|my|our|i|its|such|other|another|here|there|very|a lot|so much|what|how|when|where|why|who|whoever|which|whether|if|both|all|none|some|most|many|any|one|ones|two|neither|either|each|every\w*|anything|nothing|something|someone|so|more|less|option|number|version|plan|step|to (?:say|know|think|believe|ask|add|see|hear|be|bother|point|admit|break|disagree|interrupt|tell)|being|waiting)\b/iu;

/** "The blue one" was shown just now; the sea is there for everybody. */
const THE_ONE_SHOWN =
  /^[Tt]he (?!sea\b|ocean|beach|mountains?|outdoors|countryside|rain|snow|cold|heat|sun\b|smell of|taste of|colou?r|night|forest|summer|winter|city\b|\p{Lu})/u;

/** Words of the conversation rather than of a taste, and ends that show that more should have come. */
const SPEAKS_OF_NOW =
  /\b(?:it|this|that|these|those|them|their|her|his|there|here|how|what|you|your|would|could|should|might|any ?more|any longer|today|tonight|answers?|suggestions?|repl(?:y|ies)|responses?|explanations?|drafts?|versions?|options?|better than that|at all|when|because|if|than|right here)\b|\b(?:such as|like|as|of|the|and|or|with|to|for|in|from)$/i;

const list = (value: string | null): string[] => (value === null ? [] : [value]);

/** One thing in a few words, nothing that points to what is on the screen just now. */
export const thing: ReadValues = (caught) => {
  const words = caught.split(" ").length;
  return words > 8 || POINTS_BACK.test(caught) || THE_ONE_SHOWN.test(caught) || SPEAKS_OF_NOW.test(caught)
    ? []
    : list(cleanValue(caught.replace(/^an? (?:good|nice|great) /i, "")));
};

/** Things with commas and "and" between them. */
export const things: ReadValues = (caught, isCasual) => {
  const parts = splitThings(caught);
  const all = parts.map((part) => thing(part, isCasual));
  const isList = parts.length <= 8 && parts.slice(1).every((part) => part.split(" ").length <= 3);
  return isList && all.every((part) => part.length > 0) ? all.flat() : [];
};

const JOKES =
  /^(?:mondays?|mornings?|work(?:ing)?|bullshit|bs|stupid\w*|people|drama|nonsense|exercise|commitment|fun|school|meetings?|fail\w*|small talk|losing|idiots)\b/i;

const COUNTABLE = /(?:nut|egg|cat|dog|bee|prawn|almond|cashew|strawberr|tomato)$/i;

/** What somebody is allergic to, of up to three words. */
export const allergens: ReadValues = (caught, isCasual) =>
  things(caught, isCasual)
    .filter((value) => value.split(" ").length <= 3 && !JOKES.test(value))
    .map((value) => (COUNTABLE.test(value) ? `${value}s` : value));

/** A food or a drink of up to three words; "dinner" and "much" are not given up. */
export const foods: ReadValues = (caught, isCasual) =>
  things(caught, isCasual).filter(
    (value) =>
      value.split(" ").length <= 3 &&
      !/\b(?:much|breakfast|lunch|dinner|out|well|lot|often|enough|late|alone|here|there|with|yet|fun|time|idea|clue)\b/i.test(value),
  );

/** Something known to be a food. */
export const foodKind: ReadValues = (caught, isCasual) => foods(caught, isCasual).filter((value) => isFoodKind(keyOf(value)));

/** A subject or language that is learnt. */
export const subject: ReadValues = (caught) =>
  /^(?:for|right|hard|tonight|now|the|in|with|it|here|at|a|an|on|how|about|more|to|lots?|so|from|that|this|your|my|what|every\w*|alone|abroad|together|as|new)\b/i.test(
    caught,
  ) || caught.split(" ").length > 3
    ? []
    : thing(caught, false);

/** What somebody sets out to do, unless it is about the conversation or this evening. */
export const aim: ReadValues = (caught) => {
  const value = caught.replace(/,? (?:and|but|so) (?:i|want\w*|was|am|need|would|could|have|had|do|can)\b.*$|, .*$/i, "");
  const isPassing =
    /\b(?:more|about|this (?!year|summer|winter|spring|autumn)|that|it|you|your|today|tonight|here|why|what|what's|would|these|those|tomorrow|another|similar|upcoming|next)\b/i;
  return value.split(" ").length > 14 || isPassing.test(value) ? [] : list(cleanValue(value));
};
