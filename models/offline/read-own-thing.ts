/** What is so of something of the user's: "my cat is called Kim", "I work at the airport". */
export interface OwnThing {
  /** The line of core memory; "…" stands for the value: another value of the same is a change. */
  about: string;
  value: string;
}

const CALLED = /^my (?<thing>[a-z]{2,20}(?: [a-z]{2,20})?) is (?:now |actually )?(?:called|named) (?<value>.+)$/i;
const LIVES = /^my (?<thing>[a-z]{2,20}) (?:now )?(?:lives|has moved|moved) (?:in|to) (?<value>.+)$/i;
const IS_ON = /^my (?<thing>[a-z]{2,20}(?: [a-z]{2,20})?) is (?:now |actually )?on (?<value>.+)$/i;
const WORK = /^i (?:now |currently |actually )?work (?:now )?(?:at|for) (?<value>.+)$/i;
const CHINESE_CALLED = /^我的(?<thing>\p{Script=Han}{1,4}?)(?:现在|目前|其实)?叫(?<value>\p{Script=Han}{1,4})$/u;
const CHINESE_LIVES =
  /^我的?(?<thing>爸爸|妈妈|父母|父亲|母亲|爷爷|奶奶|外公|外婆|哥哥|弟弟|姐姐|妹妹|儿子|女儿|丈夫|妻子|老公|老婆|男朋友|女朋友)(?:现在|目前|已经)?(?:住在|搬到)(?<value>\p{Script=Han}{2,6}?)了?$/u;
const CHINESE_WORK = /^我(?:现在|目前|已经)?在(?<value>\p{Script=Han}{2,8})(?:上班|工作)了?$/u;

const NAME = /^\p{Lu}[\p{L}'-]{0,20}(?: \p{Lu}[\p{L}'-]{0,20})?$/u;
const DAY =
  /^(?:(?:next )?(?:mon|tues|wednes|thurs|fri|satur|sun)day|(?:the )?\d{1,2}(?:st|nd|rd|th)?(?: of)?(?: \p{L}{3,9})?|\p{L}{3,9} \d{1,2}(?:st|nd|rd|th)?)$/iu;
const WORKPLACE = /^(?:the |a |an )?[\p{L}\p{N}&'-]{2,20}(?: [\p{L}\p{N}&'-]{2,20}){0,3}$/u;
const NO_WORKPLACE =
  /^(?:it|that|this|them|him|her|me|myself|you|home|night|once|least|all|hours?|days?|weeks?|months?|years?|ages|money|free|fun|peace|a living)\b|\b(?:hours?|days?|weeks?|months?|years?|from|with|without|because|since|until|when)\b/iu;
/** Of the talk, not of the user's life. */
const NO_THING =
  /^(?:questions?|points?|answers?|problems?|guess|message|text|story|character|avatar|persona|hero|example|code|file|function|variable|class)$/i;
const NO_CHINESE_THING = /^(?:问题|意思|回答|答案|故事|角色|主角|家|名字|全名|人)$|[是在和]/u;
const END = / (?:now|instead|again|these days|today)$/i;

function read(pattern: RegExp, said: string, about: (thing: string) => string, isValue: (value: string) => boolean): OwnThing | null {
  const { thing = "", value: told = "" } = pattern.exec(said)?.groups ?? {};
  const value = told.replace(END, "");
  if (value === "" || NO_THING.test(thing) || NO_CHINESE_THING.test(thing) || !isValue(value)) return null;
  return { about: about(thing.toLowerCase()), value };
}

const capitalised = (text: string): string => text.slice(0, 1).toUpperCase() + text.slice(1);
const isHan = (): boolean => true;

/** Null: the clause says anything else. */
export function readOwnThing(clause: string): OwnThing | null {
  return (
    read(
      CALLED,
      clause,
      (thing) => capitalised(`${thing} is called …`),
      (value) => NAME.test(value),
    ) ??
    read(
      LIVES,
      clause,
      (thing) => capitalised(`${thing} lives in …`),
      (value) => NAME.test(value),
    ) ??
    read(
      IS_ON,
      clause,
      (thing) => capitalised(`${thing} is on …`),
      (value) => DAY.test(value),
    ) ??
    read(
      WORK,
      clause,
      () => "Works at …",
      (value) => WORKPLACE.test(value) && !NO_WORKPLACE.test(value),
    ) ??
    read(CHINESE_CALLED, clause, (thing) => `${thing}叫…`, isHan) ??
    read(
      CHINESE_LIVES,
      clause,
      (thing) => `${thing}住在…`,
      (value) => !/[这那哪家里边]/u.test(value),
    ) ??
    read(
      CHINESE_WORK,
      clause,
      () => "在…上班",
      (value) => !/[这那哪家找换想忙]|一起|考虑|准备|努力/u.test(value),
    )
  );
}
