import { englishPattern } from "./english-pattern.ts";
import { aim, allergens, foodKind, foods, subject, thing, things } from "./english-things.ts";
import { asCaught, oneOf } from "./plain-values.ts";
import { makeRules } from "./fact-rule.ts";

const ANY_MORE = "(?: any ?more| any longer)";
const DIETS =
  "vegetarian|vegan|pescatarian|kosher|halal|gluten-free|keto|on a (?:keto|low-carb|gluten-free|vegan|vegetarian|low-sodium) diet";
const ILLNESS =
  "diabetes|type [12] diabetes|asthma|celiac disease|coeliac disease|high blood pressure|hypertension|epilepsy|arthritis|adhd|dyslexia|ibs|crohn's disease|migraines|a heart condition|a pacemaker|lactose intolerance|gout";
const STATE =
  "(?:type [12] )?diabetic|(?:lactose|gluten|histamine|fructose)[- ]intolerant|coeliac|celiac|colou?r[- ]?blind|deaf|blind|hard of hearing|dyslexic|epileptic|asthmatic|a wheelchair user|autistic";
const FAN = "(?:big |huge |massive |great |real |total |long-time |major )?";
const GOAL = [
  "learn|become|master|speak|graduate|emigrate|retire early|get (?:fit|in shape|better at|into)|get (?:a|my) (?:degree|phd|driver's licen[cs]e|promotion)",
  "run (?:a|my first|the) (?:half[- ])?marathon|run (?:5|10)k|lose (?:some |\\w+ )?(?:weight|kilos?|kg|pounds|lbs)|gain (?:some )?(?:weight|muscle)",
  "(?:quit|stop|give up) (?:smoking|drinking|gambling|sugar|biting|procrastinating|vaping)|save (?:up|money|\\d+)|improve my|work on my|(?:write|publish|finish) (?:a|my|my own) (?:book|novel|thesis|memoir|phd)",
  "(?:start|found|open|launch|run) (?:a|my|my own)(?: \\w+)? (?:business|company|blog|family|podcast|band|shop|bakery|restaurant|cafe|café|school|studio)|buy (?:a|my own|our own) (?:house|flat|home|apartment|car|boat)|move to|travel (?:the|around|to)|visit every|read \\d+|pass (?:my|the)|apply (?:to|for) \\w+|study|build (?:a|my own) (?:house|cabin|boat)|climb|eat (?:less|more healthily|healthier)|sleep more|exercise more|drink less",
].join("|");
const WANT = "(?:want|would like|would love|hope|plan|intend|aim|am planning|am hoping|am trying|am determined) to";

/** What the user likes, avoids, cannot have and is after, in English. */
export const ENGLISH_TASTE_RULES = makeRules(englishPattern, [
  ["taste", "{I}(?:like|liked and still like|love|loved|adore|enjoy) {value}", "Likes {value}.", things],
  [
    "taste",
    "{I}(?:started to|started|came to|come to|learned to|grown to|begun to|began to) (?:like|love|enjoy|liking|loving|enjoying) {value}",
    "Likes {value}.",
    things,
  ],
  ["taste", "{I}(?:fell|fallen) in love with {value}", "Likes {value}.", things],
  ["taste", "i {am} (?:fond of|crazy about|mad about|obsessed with|keen on|passionate about|into) {value}", "Likes {value}.", things],
  ["taste", `i {am} an? ${FAN}(?:fan|lover|admirer) of {value}`, "Likes {value}.", things],
  ["taste", `i {am} an? ${FAN}(?<value>[\\w-]+(?: [\\w-]+)?) (?:fan|lover|enthusiast|buff|addict)`, "Likes {value}.", thing],
  [
    "taste",
    "{I}(?:do not|never)(?: really| actually| particularly| much| even)? (?:like|liked|love|enjoy|care for) {value}",
    "Dislikes {value}.",
    things,
    "no",
  ],
  [
    "taste",
    "{I}(?:hate|dislike|detest|loathe|despise|can not stand|can not bear|can not tolerate) {value}",
    "Dislikes {value}.",
    things,
    "no",
  ],
  [
    "taste",
    `i {am} not (?:really |exactly |much of )?(?:an? ${FAN}fan of|fond of|into|keen on|crazy about) {value}`,
    "Dislikes {value}.",
    things,
    "no",
  ],
  ["taste", `{I}(?:do not|can not)(?: really)? (?:like|love|enjoy|stand) {value}${ANY_MORE}`, "", things],
  ["taste", "{I}no longer (?:like|love|enjoy|hate|dislike|mind) {value}", "", things],
  ["taste", `{I}do not (?:hate|dislike) {value}${ANY_MORE}`, "", things],
  [
    "taste",
    "i {am} (?:a bit |a little |getting |growing |no longer )?(?:tired of|bored (?:of|with|by)|sick of|over|done with|fed up with|a fan of|into) {value}",
    "",
    things,
  ],
  ["taste", "{I}(?:stopped (?:liking|loving|enjoying)|lost interest in|gone off|went off|had enough of|grew tired of) {value}", "", things],
  [
    "favourite",
    "my (?:absolute |all-time |all time )?favou?rite (?<kind>[\\w-]+(?: [\\w-]+)?) (?:is|are|has always been|would be) {value}",
    "Favourite {kind}: {value}.",
    thing,
  ],
  [
    "favourite",
    "{value} (?:is|are) my (?:absolute |all-time |all time )?favou?rite (?<kind>[\\w-]+(?: [\\w-]+)?)",
    "Favourite {kind}: {value}.",
    thing,
  ],
  ["prefer", "{I}prefer {value} (?:to|over|rather than|instead of) (?<other>(?:\\w+ ?){1,4}?)", "Prefers {value} to {other}.", thing],
  ["prefer", "{I}prefer (?<value>(?:(?!to\\b|over\\b|rather\\b)[\\w'-]+ ?){1,5}?|to (?:\\w+ ?){1,4}?)", "Prefers {value}.", thing],

  ["allergy", "{we}(?:{am}) allergic to {value}", "Allergic to {value}.", allergens],
  [
    "allergy",
    "{I}(?:have )?(?:an? )?(?:severe |serious |bad |strong |mild )*(?<value>[\\w-]+(?: [\\w-]+)?) allerg(?:y|ies)",
    "Allergic to {value}.",
    allergens,
  ],
  ["allergy", "{I}(?:have )?an allergy to {value}", "Allergic to {value}.", allergens],
  ["allergy", "i {am} (?:not|no longer) (?:actually )?allergic to {value}(?: any ?more| any longer)?", "", allergens],
  [
    "diet",
    `{we}(?:{am}|became|become|went|gone|turned) (?:an? )?(?:strict(?:ly)? |mostly |mainly )*(?<value>${DIETS})`,
    "{value}.",
    oneOf(DIETS),
  ],
  [
    "diet",
    `{I}(?:follow|keep|eat) (?:an? )?(?:strict(?:ly)? )?(?<value>vegetarian|vegan|kosher|halal|gluten-free|keto)(?: diet)?`,
    "{value}.",
    oneOf(DIETS),
  ],
  ["diet", `i {am} (?:not|no longer) (?:an? )?(?<value>${DIETS})(?: any ?more| any longer)?`, "", asCaught],
  ["diet", `{I}stopped being (?:an? )?(?<value>${DIETS})`, "", asCaught],
  ["avoids", `{we}(?:do not|never|no longer|can not|stopped)(?: ever)? (?:eat|eating) {value}${ANY_MORE}?`, "Does not eat {value}.", foods],
  ["avoids", "{we}can not have {value}", "Does not eat {value}.", foodKind],
  [
    "avoids",
    `{we}(?:do not|never|no longer|can not|stopped)(?: ever)? (?:drink|drinking) {value}${ANY_MORE}?`,
    "Does not drink {value}.",
    foods,
  ],
  ["avoids", `{I}(?:do not drink|stopped drinking|no longer drink)${ANY_MORE}?`, "Does not drink alcohol.", () => ["alcohol"]],
  ["avoids", "{I}(?:gave up|given up|quit|avoid|stay away from|cut out) {value}", "Does not eat or drink {value}.", foodKind],
  ["avoids", "{I}(?:(?:started|begun|began) (?:eating|drinking)|eat|drink) {value} again", "", foods],
  ["diet", "{I}(?:(?:started|begun|began) eating|eat) (?<value>meat|fish) again", "", () => [""]],
  [
    "condition",
    `{I}(?:have|was diagnosed with|been diagnosed with|suffer from|live with|got)? ?(?<value>${ILLNESS})`,
    "Has {value}.",
    oneOf(ILLNESS),
  ],
  ["condition", `i {am} (?<value>${STATE})`, "Is {value}.", oneOf(STATE)],

  [
    "goal",
    `(?:one day |someday |eventually |this year )?{I}${WANT} (?:eventually |finally |one day |someday )?(?<value>(?:${GOAL})\\b.*)`,
    "Wants to {value}.",
    aim,
  ],
  [
    "goal",
    "my (?:main |big |biggest |long-term |current |life |next )?(?:goal|dream|ambition|resolution)(?: for .+?| this year| in life)? is to {value}",
    "Goal: {value}.",
    aim,
  ],
  ["goal", "{I}(?:am )?learning (?:to speak )?{value}", "Learning {value}.", subject],
  ["goal", "{I}(?:am )?training for {value}", "Training for {value}.", aim],
  ["goal", "{I}(?:am )?saving (?:up |money )?for {value}", "Saving up for {value}.", aim],
  [
    "goal",
    "{I}(?:am )?(?:studying|preparing|cramming) for (?<value>(?:the|my|an?) (?:[\\w-]+ ){0,3}(?:exams?|test|certification|certificate|licen[cs]e))",
    "Preparing for {value}.",
    aim,
  ],
  ["goal", `{I}(?:no longer want|do not want) to {value}${ANY_MORE}`, "", aim],
  ["goal", "{I}no longer want to {value}", "", aim],
  [
    "goal",
    "{I}(?:gave up|given up|stopped|quit|dropped|abandoned)(?: on)? (?:learning|training for|trying to learn|trying to|saving for|saving up for|studying) {value}",
    "",
    aim,
  ],
]);
