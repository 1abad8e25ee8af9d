import { dayOfMoment, partsOfDay } from "../../text/civil-day.ts";

const CHINESE_WEEKDAYS = ["日", "一", "二", "三", "四", "五", "六"];
const WEEKDAYS = ["sunday", "monday", "tuesday", "wednesday", "thursday", "friday", "saturday"];
const MONTHS = "january february march april may june july august september october november december".split(" ");

/**
 * A day in the words of questions that name it, in English and Chinese, to be part of a text before lexicalText: natural words help
 * recall, ISO dates do not. `timeZone` is an IANA name, wrong ones throw RangeError.
 */
export function dayWords(date: Date, timeZone: string): string {
  const { year, month, day, weekday } = partsOfDay(dayOfMoment(date, timeZone));
  const chinese = CHINESE_WEEKDAYS[weekday % 7];
  return `${WEEKDAYS[weekday % 7]} ${MONTHS[month - 1]} ${day} ${year} ${year}年${month}月${day}日 星期${chinese} 周${chinese}`;
}
