import { cleanValue } from "./clean-value.ts";
import { isFoodKind } from "./food-kinds.ts";
import { keyOf } from "./key-of.ts";
import type { ReadValues } from "./fact-rule.ts";
import { splitThings } from "./split-things.ts";

const NOT_NAMES =
  /^(?:i|not|is|the|a|an|and|but|or|it|he|she|this|that|what|who|mud|hard|on|in|too|so|also|very|sorry|here|back|later|when|if|maybe|crazy|monday|tuesday|wednesday|thursday|friday|saturday|sunday|system|assistant|admin|administrator|root|user|developer|null|undefined|god|spelled|never|often|just|actually|really|unknown|none|already|written|nobody)$/i;
/** What people move to or live in that is no place. */
const NOT_PLACES =
  /^(?:linux|windows|macos|mac|android|ios|python|java|javascript|typescript|rust|go|vim|emacs|vs code|slack|notion|excel|chrome|firefox|github|gitlab|postgres|react|vue|hope|fear|peace|sin|harmony|poverty|pain|denial|luxury|hell|heaven|constant|accounting|hr|sales|marketing|engineering|it|a|an|my|the|this|that|your|what|where|there|here|something|it)\b/i;
const CAPITAL = "\\p{Lu}[\\p{L}\\p{M}'’.-]*";
const PLACE = new RegExp(
  `^(?:the )?${CAPITAL}(?: (?:${CAPITAL}|of|de|la|upon|am|an der|do|del|el))*(?:, ?${CAPITAL}(?: ${CAPITAL})*)?$`,
  "u",
);
const VILLAGE = new RegExp(
  `^an? (?:small |little |tiny |quiet |big )?(?:village|town|city|suburb) (?:near|outside|close to|called|in) ${CAPITAL}(?: ${CAPITAL})?$`,
  "u",
);
const MONTH =
  /jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?/i;
/** A thing liked that begins so is what was just said or shown, or a person. */
const POINTS_BACK =
  /^(?:it|that|this|these|those|you|your|yours|u|him|his|her|hers|their|them|they|he|she|we|us|me|my|our|i|its|such|other|another|here|there|very|a lot|so much|what|how|when|where|why|who|whoever|which|whether|if|both|all|none|some|most|many|any|one|ones|two|neither|either|each|every\w*|anything|nothing|something|someone|so|more|less|option|number|version|plan|step|to (?:say|know|think|believe|ask|add|see|hear|be|bother|point|admit|break|disagree|interrupt|tell)|being|waiting)\b/iu;
/** "The blue one" was shown just now; the sea is there for everybody. */
const THE_ONE_SHOWN =
  /^[Tt]he (?!sea\b|ocean|beach|mountains?|outdoors|countryside|rain|snow|cold|heat|sun\b|smell of|taste of|colou?r|night|forest|summer|winter|city\b|\p{Lu})/u;
const SPEAKS_OF_NOW =
  /\b(?:it|this|that|these|those|them|their|her|his|there|here|how|what|you|your|would|could|should|might|any ?more|any longer|today|tonight|answers?|suggestions?|repl(?:y|ies)|responses?|explanations?|drafts?|versions?|options?|better than that|at all|when|because|if|than|right here)\b|\b(?:such as|like|as|of|the|and|or|with|to|for|in|from)$/i;

const list = (value: string | null): string[] => (value === null ? [] : [value]);
const capitalised = (text: string): string => text.replace(/(?<![\p{L}'’])\p{Ll}/gu, (letter) => letter.toUpperCase());

/** A person's name of one to three words; without capitals it is taken where the whole message has none. */
export const personName: ReadValues = (caught, isCasual) => {
  const words = caught.replace(/'s$/, "").split(" ");
  if (words.length > 3 || words.some((word) => NOT_NAMES.test(word) || !/^[\p{L}\p{M}'.-]{1,20}$/u.test(word))) return [];
  if (words.every((word) => /^\p{Lu}/u.test(word)) || /^\p{Script=Han}{1,4}$/u.test(caught)) return list(cleanValue(words.join(" ")));
  return isCasual && words.length <= 2 ? list(cleanValue(capitalised(words.join(" ")))) : [];
};

/** The capitalised words a text begins with, as a name: "Mia is visiting". */
export const leadingName: ReadValues = (caught) => {
  const name = /^\p{Lu}[\p{Ll}\p{M}][\p{L}\p{M}'-]*(?: (?!I\b)\p{Lu}[\p{Ll}\p{M}]+)?/u.exec(caught)?.[0] ?? "";
  return name === "" ? [] : personName(name.replace(/'s?$/, ""), false);
};

/** Names in a row: "Rex and Luna". */
export const leadingNames: ReadValues = (caught) => caught.split(/, (?:and )?| and /).flatMap((part) => leadingName(part, false));

/** A town, region or country. */
export const placeName: ReadValues = (caught, isCasual) => {
  if (VILLAGE.test(caught)) return list(cleanValue(caught));
  if (NOT_PLACES.test(caught) && !/^the (?:us|uk|usa|netherlands|hague|bronx|philippines|czech)\b/i.test(caught)) return [];
  const place = isCasual && /^[\p{Ll} ]+$/u.test(caught) && caught.split(" ").length <= 2 ? capitalised(caught) : caught;
  return PLACE.test(place) || /^\p{Script=Han}{2,6}$/u.test(place) ? list(cleanValue(place)) : [];
};

/** A place that is written with a capital, where words that are none may stand too ("I work in finance"). */
export const capitalPlace: ReadValues = (caught) => placeName(caught, false);

/** A company by its name, or "a bank". */
export const companyName: ReadValues = (caught, isCasual) =>
  /^(?:an? |the )(?:[\w-]+ ){0,2}(?:bank|hospital|school|startup|start-up|university|company|firm|agency|restaurant|bakery|brewery|library|museum|ngo|clinic|pharmacy|hotel|factory|lab|government|shop|store|bookstore|bookshop|supermarket|charity|nursery|kindergarten|law firm)$/i.test(
    caught,
  )
    ? list(cleanValue(caught))
    : new RegExp(`^(?:the )?${CAPITAL}(?: (?:${CAPITAL}|of|and|&))*$`, "u").test(caught) && !NOT_NAMES.test(caught)
      ? list(cleanValue(caught))
      : isCasual && /^(?:google|amazon|microsoft|apple|meta|ikea|ibm|netflix)$/.test(caught)
        ? list(cleanValue(capitalised(caught)))
        : [];

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
