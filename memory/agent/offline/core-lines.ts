import type { SectionName } from "./slots.ts";

/** One line of core memory while it is decided on. */
export interface CoreLine {
  section: SectionName;
  text: string;
  /** It was there before the message. */
  isOld: boolean;
}

/**
 * The lines of one section within its limit. What does not fit is left out, the new before the old: what has been known for long, perhaps
 * written by a person, does not silently give way to a remark.
 */
export function fitLines(lines: CoreLine[], limit: number): CoreLine[] {
  const kept = new Set<CoreLine>();
  let length = -1;
  for (const line of [...lines.filter(({ isOld }) => isOld), ...lines.filter(({ isOld }) => !isOld)]) {
    if (length + 1 + line.text.length > limit) continue;
    kept.add(line);
    length += 1 + line.text.length;
  }
  return lines.filter((line) => kept.has(line));
}
