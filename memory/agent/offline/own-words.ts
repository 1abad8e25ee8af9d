/** Characters of a message that are looked at: what is longer was hardly typed. */
const LONGEST = 4_000;
/** From here on the text is somebody else's: a line across, a mail that was passed on, its head or its farewell. */
const FOREIGN =
  /^(?:\s*(?:-{3,}|={3,}|\*{3,}|_{3,}|~{3,}|"{3}|'{3}|#{2,}).*|\s*-+ ?(?:original message|forwarded|begin).*|\s*(?:from|to|subject|发件人|主题|转发)\s*[:：].*|begin forwarded message.*|on .{5,80} wrote:)$/imu;
const LETTER =
  /^\s*(?:dear|sehr geehrte|尊敬的|亲爱的)\b.{0,60}[,，:：]?\s*$|^\s*(?:(?:kind|best|warm) )?regards\b|^\s*(?:yours )?sincerely\b|此致/imu;
const CODE = /```[^]*?(?:```|$)|`[^`\n]*`/gu;
const QUOTED =
  /"[^"\n]{2,}"|“[^”]*”?|„[^“”]*[“”]?|「[^」]*」?|『[^』]*』?|«[^»]*»?|(?<![\p{L}\p{N}])'(?=\S)[^'\n]{2,}(?<=\S)'(?![\p{L}\p{N}])|(?<![\p{L}\p{N}])‘[^’\n]{2,}’(?![\p{L}\p{N}])/gu;
const QUOTED_LINE = /^\s*(?:>|\|).*$/gmu;
const LIST_LINE = /^\s*(?:[-*•·+]\s|\(?\d{1,2}[.)、]|[①-⑩]).*$/gmu;
const PARENTHESES = /\([^()]*\)|（[^（）]*）/gu;

/** The part of a message that its writer says in their own name: no quotations, code, lists, letters or mails that were pasted. */
export function ownWords(message: string): string {
  const text = message.slice(0, LONGEST).toWellFormed().replace(CODE, " … ");
  if (LETTER.test(text)) return "";
  const cut = FOREIGN.exec(text);
  const own = (cut ? text.slice(0, cut.index) : text).replace(QUOTED_LINE, "\n");
  const lists = own.match(LIST_LINE) ?? [];
  return (lists.length > 1 ? own.replace(LIST_LINE, "\n") : own).replace(QUOTED, " … ").replace(PARENTHESES, " ");
}
