import { englishPattern } from "./english-pattern.ts";
import { capitalPlace, companyName, leadingName, leadingNames, personName, placeName } from "./english-names.ts";
import { subject } from "./english-things.ts";
import { age, asCaught, dayOfYear, oneOf, ownOccupation, whatever, year } from "./plain-values.ts";
import { makeRules } from "./fact-rule.ts";
import { FIELD } from "./occupations.ts";

const LEFT = "(?:left|quit|no longer work (?:at|for)|do not work (?:at|for)|stopped working (?:at|for)|resigned from)";
const ANY_MORE = "(?: any ?more| any longer)?";

/** Who the user is, in English: name, home, work, dates and the people close to them. */
export const ENGLISH_PROFILE_RULES = makeRules(englishPattern, [
  ["name", "my (?:full |first |real |new )?name is (?:actually |really |now |just )?{value}", "Name: {value}.", personName],
  ["name", "(?:i am called|the name is) {value}", "Name: {value}.", leadingName],
  ["name", "my name is not {value}", "", personName],
  [
    "nickname",
    "(?:(?:please|just|you can|you may|everyone|everybody|people|my friends|friends|they|all) )*calls? me {value}",
    "Goes by {value}.",
    leadingName,
  ],
  ["nickname", "{I}(?:prefer to )?(?:go by|be called) {value}", "Goes by {value}.", leadingName],

  ["home", "{we}(?:live|reside) (?:here )?in {value}", "Lives in {value}.", placeName],
  ["home", "{we}(?:{am} |been )(?:living|based|settled) (?:here )?in {value}", "Lives in {value}.", placeName],
  ["home", "{we}(?:moved|relocated)(?: back| over| down| up)?(?: from .+?)? to {value}(?: for .+)?", "Lives in {value}.", placeName],
  ["home", "{we}settled(?: down)? in {value}", "Lives in {value}.", placeName],
  ["home", "{we}(?:no longer live|do not live) in {value}(?: any ?more| any longer)?", "", placeName],
  ["home", "{we}moved (?:away from|out of) {value}", "", placeName],
  ["origin", "{I}(?:am |come )(?:originally )?from {value}", "From {value}.", placeName],
  ["upbringing", "{I}(?:grew up|was raised) in {value}", "Grew up in {value}.", placeName],
  ["birthplace", "{I}was born(?: and raised)? in {value}", "Born in {value}.", placeName],
  ["birth", "{I}was born in {value}", "Born in {value}.", year],
  ["birth", "{I}was born on (?:the )?{value}", "Born on {value}.", dayOfYear],
  ["age", "{I}(?:am |(?:have )?(?:just )?turned )(?<value>\\d{1,3})(?: years?(?: old| of age)?)?", "Age: {value}.", age],
  ["birthday", "my birthday is (?:on )?{value}", "Birthday: {value}.", dayOfYear],

  [
    "job",
    "{I}(?:am )?work(?:ing)?(?: (?:nights|days|part[- ]time|full[- ]time|remotely|freelance))? as (?<value>an? (?:[\\w-]+ ?){1,5}?)(?: (?:at|for|in|with) .+)?",
    "Works as {value}.",
    ownOccupation,
  ],
  ["job", "i {am} {occupation}(?: (?:at|for|in|with) .+)?", "Works as {value}.", ownOccupation],
  ["job", "my (?:job|profession|occupation) is(?: being)? {occupation}", "Works as {value}.", ownOccupation],
  [
    "job",
    "{I}(?:got|found|started|took) (?:a )?(?:new )?(?:job|work|position|working) as (?<value>an? (?:[\\w-]+ ?){1,5}?)(?: (?:at|for|in|with) .+)?",
    "Works as {value}.",
    ownOccupation,
  ],
  ["job", "{I}(?:became|have become) {occupation}", "Works as {value}.", ownOccupation],
  [
    "job",
    "i {am} (?<value>retired|unemployed|self-employed|between jobs)",
    "Is {value}.",
    oneOf("retired|unemployed|self-employed|between jobs"),
  ],
  [
    "job",
    "{I}(?:work|am working|do) (?:in )?(?:the )?{field}(?: industry| sector| business)?(?: (?:at|for) .+)?",
    "Works in {value}.",
    oneOf(FIELD),
  ],
  ["job", "i {am} (?:not|no longer) {occupation}(?: any ?more| any longer)?", "", asCaught],
  ["job", "{I}(?:quit|left|lost|changed|switched|resigned from) (?:my )?(?:old |last )?jobs?", "", whatever],
  ["employer", "{I}(?:quit|left|lost|changed|switched|resigned from) (?:my )?(?:old |last )?jobs?", "", whatever],
  ["job", "{I}(?:was|got|have been|been) (?:fired|laid off|made redundant)", "", whatever],
  ["employer", "{I}(?:was|got|have been|been) (?:fired|laid off|made redundant)", "", whatever],
  ["employer", "i {am} (?:retired|unemployed|self-employed|between jobs)", "", whatever],
  [
    "employer",
    "{I}(?:work|am working|started working)(?: as an? (?:[\\w-]+ ?){1,5}?)? (?:at|for|with) {value}(?: as an? .+)?",
    "Works at {value}.",
    companyName,
  ],
  ["employer", "i {am} {someone} (?:at|for|with) {value}", "Works at {value}.", companyName],
  ["employer", `{I}${LEFT} {value}${ANY_MORE}`, "", companyName],
  ["workplace", "{I}(?:work|am working) in {value}", "Works in {value}.", capitalPlace],
  ["study", "{I}(?:study|am studying|am majoring in|major in) {value}(?: (?:at|in) .+)?", "Studies {value}.", subject],
  ["study", "i {am} an? (?:university |college |phd |graduate )?student of {value}", "Studies {value}.", subject],

  ["relation", "(?:.*\\b)?my {role},? {value}", "{Role}: {value}.", leadingName],
  ["relation", "(?:.*\\b)?my {role} is (?:called|named) {value}", "{Role}: {value}.", leadingName],
  ["relation", "(?:.*\\b)?my {role}'s name is {value}", "{Role}: {value}.", leadingName],
  [
    "relation",
    "(?:i|we) have(?: got)? (?:an?|one|two|three|\\d)(?: \\w+)? {role}s?,? (?:(?:called|named) )?{value}",
    "{Role}: {value}.",
    leadingNames,
  ],
  ["relation", "{value} is my {role}", "{Role}: {value}.", personName],
  [
    "relation",
    "{I}(?:broke up with|divorced|am divorced from|separated from|split up with|left)(?: my (?:wife|husband|boyfriend|girlfriend|partner))?(?: {value})?",
    "",
    leadingName,
  ],
]);
