import { cleanValue } from "./clean-value.ts";
import type { ReadValues } from "./fact-rule.ts";

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
