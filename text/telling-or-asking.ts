const QUESTION = /[?？]["'”’)）\]】」』*_]*$/u;
/** The beginning of a sentence that only asks. Other questions also tell: "I move in May, any advice?" */
const ONLY_ASKS =
  /^\W*(?:(?:and|but|so|ok|okay|well|also|oh|hey|hi|wow) ?,? )?(?:who|whom|whose|what|when|where|wh(?:ere|at)['’]s|which|why|how|do|does|did|is|are|was|were|am|can|could|will|would|should|shall|may|have|has|any|got)\b/i;
const REQUEST = /^\W*(?:please )?(?:tell|show|give|remind|explain|recommend|suggest|list|find|help)\b|^(?:请|帮|告诉|给我|说说|推荐)/i;
const CHINESE_QUESTION =
  /什么|怎么|怎样|哪|谁|多少|几[个位次岁点天]|是不是|有没有|(\p{Script=Han})不\1|几[节页层元块年月小分集]|[吗呢么]$/u;
const OF_ONESELF =
  /^\W*(?:(?:hi|hello|hey|well|so|and|but|ok|okay|actually|also|by the way)\b[ ,.!]*)*(?:i|my|we|our)\b|^(?:你好|您好|嗨|对了)?[，,！!。 ]*我/i;
const WANTS = /\b(?:wonder|question|want to know|like to know|need to know|looking for)\b|我(?:想|要|需要)(?:知道|问|查|了解|找)/i;

export const isQuestion = (sentence: string): boolean => QUESTION.test(sentence);

export const onlyAsks = (sentence: string): boolean => ONLY_ASKS.test(sentence);

/** Whether a sentence asks or requests. */
export function asks(sentence: string): boolean {
  return /[?？]/u.test(sentence) || onlyAsks(sentence) || REQUEST.test(sentence) || CHINESE_QUESTION.test(sentence);
}

/** Whether a message only tells something about its writer: "My dog is called Rex", "我的狗叫小白". */
export function tellsOfOneself(message: string): boolean {
  return OF_ONESELF.test(message) && !asks(message) && !WANTS.test(message);
}
