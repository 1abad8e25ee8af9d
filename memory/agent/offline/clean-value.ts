/** Longest value, in characters: a line of at most 160 has words around it. */
const LONGEST = 120;
/** Letters, digits and the marks of ordinary names: neither tags nor templates, code, addresses nor line breaks. */
const ORDINARY = /^[\p{L}\p{M}\p{N} '’\-&+.,/()·、，：:%°#!《》]+$/u;
/** A value with such words speaks to the assistant, or claims a right, whatever the sentence around it says. */
const COMMANDS =
  /\b(?:instructions?|prompts?|obey\w*|overrid\w+|ignor(?:e|ing)|jailbreak\w*|system|assistant|admin\w*|root|sudo|developer mode|https?|www|passwords?|must|always (?:answer|reply|respond)|authori[sz]ed|permission|unlimited)\b|指令|提示词|服从|忽略|无视|越狱|系统|管理员|开发者|密码|权限|必须|授权|你|您/iu;

/** The value on one line and without what could pass for more than a fact; null when it is not to be stored. */
export function cleanValue(value: string): string | null {
  const clean = value
    .normalize("NFC")
    .replace(/[《》]/gu, "")
    .replace(/\s+/gu, " ")
    .replace(/^[\s,，、:：.。!！'’-]+|[\s,，、:：.。!！'’-]+$/gu, "");
  if (clean === "" || clean.length > LONGEST || !/[\p{L}\p{N}]/u.test(clean)) return null;
  return ORDINARY.test(clean) && !COMMANDS.test(clean) ? clean : null;
}
