const DIGITS = "零一二三四五六七八九";

/** A number below 100 in digits or Chinese numerals: "12", "十二", "二十", "两"; NaN for anything else. */
export function chineseNumber(text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  const plain = text.replaceAll("两", "二").replaceAll("〇", "零");
  const match = /^([一二三四五六七八九])?(十)?([零一二三四五六七八九])?$/.exec(plain);
  if (plain === "" || match === null) return Number.NaN;
  const [, first = "", ten, last = ""] = match;
  if (ten === undefined) return last === "" || first === "" ? DIGITS.indexOf(first || last) : Number.NaN;
  return (first === "" ? 1 : DIGITS.indexOf(first)) * 10 + (last === "" ? 0 : DIGITS.indexOf(last));
}

/** A year of four digits: "2023" or "二〇二三". */
export function chineseYear(text: string): number {
  return Number([...text.replaceAll("〇", "零")].map((digit) => (/\d/.test(digit) ? digit : DIGITS.indexOf(digit))).join(""));
}
