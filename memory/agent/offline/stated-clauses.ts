import { splitClauses } from "./split-clauses.ts";

/** The whole sentence is supposed, told by others, or of a time that is over. */
const DOUBTFUL = [
  /^\W*(?:and |but |so |or )?(?:if|unless|suppos\w+|imagine|say i|let's say|assum\w+|what if|hypothetically|whether|in case|had i|were i|should i)\b/iu,
  /\b(?:if (?!this|that|there|you|these|any)|unless|whether|suppose|wish|as though|might|perhaps|maybe|probably|possibly|not sure|i guess|hopefully|would (?:be|have|love|hate|not)|back when|back then|when i was|as an? (?:kid|child|teenager|student)|in those days|growing up|once upon)\b/iu,
  /(?<!\bi )(?<!\byou )\b(?:said|says|told|wrote|writes|claims?|claimed|insists?|joked?|jokes|thinks|thought|asked|believes?|believed|quotes?)\b(?! you\b)(?<!doctor (?:said|says|told))|\baccording to\b|\bthey say\b|\bpeople say\b/iu,
  /如果|要是|假如|假设|假使|倘若|若是|万一|就好了|可能|也许|或许|大概|说不定|似乎|好像|不知道|不确定|恨不得|但愿/u,
  /[他她它们妈爸母父友事师板生姐哥弟妹人][^，。]{0,2}(?:说|问|觉得|认为|告诉|以为|讲)|听说|据说|问我|有人说|上说|书上|网上|新闻/u,
];
const ASKS = /[?？][\s”"'’)）]*$|(?:吗|么|呢|没有|对吧|是吧|好吗|不是吗)[。！!~～\s]*$/u;
const ASKS_FROM_THE_START =
  /^\W*(?:(?:and|but|so|ok|okay|well|also|oh|hey|hi),? )*(?:who|whom|whose|what|when|where|which|why|how|do|does|did|is|are|was|were|am|can|could|will|would|should|shall|may|have|has)\b/iu;
/** A request after a statement leaves the statement ("I'm vegan, what can I cook?"), unlike a question about it ("…, right?"). */
const REQUEST =
  /^(?:so )?(?:what|which|where|how|who|when|any|can|could|would|should|do you (?:know|have)|is there|are there|please|got any|help|suggest|is (?:this|that|it)|are (?:these|those)|will|does|got)\b(?!.*\b(?:my|remember|i (?:like|live|work|told|said))\b)|(?:什么|怎么|哪|多少|推荐|能不能|可不可以|有没有|可以|适合|应该|该|帮|建议)/iu;
const ABOUT_WHAT_IS_KNOWN =
  /还?记得|是不是|对吗|对吧|是吗|是吧|不是吗|知道我|我说过|\b(?:remember|right|correct|is not it|do not i|am i)\b\s*[?？]?$/iu;
/** Words with which a clause asks, or is over, or holds only today. */
const NOT_STATED = [
  /什么|怎么|哪(?!怕)|多少|几岁|是不是|有没有|会不会|喜不喜欢|吗$|谁|为啥|何时|能否/u,
  /以前|曾经|曾|过去|小时候|之前|当年|原来|那时|当时|本来|从前|早年|年轻时|上学时|差点/u,
  /\b(?:used to|once|formerly|previously|back in|would (?!like|love)|could|might|should|will)\b|\b(?:i|we|it|he|she|they|this|that) may\b/iu,
];
const TODAY =
  /\b(?:right now|at the moment|today|tonight|this (?:morning|evening|afternoon|week|weekend|time)|just now|yesterday|tomorrow|for now|until|for (?:lunch|dinner|breakfast)|at first|in theory)\b|今天|今晚|明天|昨天|这次|这两天|今早|中午|暂时|临时|这几天|几天|这周|刚才|待会|马上|一会|下个?月|明年要/iu;
const TURN =
  /\b(?:moved|quit|left|started|turned|relocated|got|lost|changed|want|goal|trying|allergic)\b|搬|换|辞|离|失业|过敏|想|打算|目标|计划|希望|准备/iu;

/** The clauses that a sentence states as true of now, by its words; the others are asked, supposed, told by somebody else or past. */
export function statedClauses(sentence: string): string[] {
  if (DOUBTFUL.some((pattern) => pattern.test(sentence)) || ABOUT_WHAT_IS_KNOWN.test(sentence)) return [];
  if (ASKS_FROM_THE_START.test(sentence)) return [];
  let clauses = splitClauses(sentence);
  if (ASKS.test(sentence)) {
    const last = clauses.at(-1) ?? "";
    if (!REQUEST.test(last) || clauses.length < 2) return [];
    clauses = clauses.slice(0, -1);
  }
  return clauses.filter(
    (clause) => clause.length <= 200 && !NOT_STATED.some((pattern) => pattern.test(clause)) && (!TODAY.test(clause) || TURN.test(clause)),
  );
}
