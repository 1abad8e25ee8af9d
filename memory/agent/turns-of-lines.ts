/** Numbers of turns for each line of a content, empty where none are named, and all that are named; or why they cannot be understood. */
export type TurnsOfLines = { turns: readonly (readonly number[])[]; named: readonly number[] } | { refused: string };

const isNumbers = (value: unknown): value is number[] => Array.isArray(value) && value.every((one) => Number.isInteger(one));

/** One number, or a list of them, as models write it. */
function numbersIn(value: unknown): number[] | null {
  const given = Array.isArray(value) ? value : [value];
  const numbers = given.map((one) => (typeof one === "string" && /^\d{1,4}$/.test(one.trim()) ? Number(one) : (one as unknown)));
  return isNumbers(numbers) ? numbers : null;
}

const EXAMPLE = "Give one list of turn numbers for each line of the content, as [[1], [2, 3]], and [] for a line that you did not change.";

/**
 * Reads the `turns` of a tool's arguments leniently. `lines` says of each line whether it is new; `count` is how many turns were read. One
 * list alone stands for all new lines; so do as many lists as there are new lines.
 */
export function turnsOfLines(given: unknown, { lines, count }: { lines: readonly { isNew: boolean }[]; count: number }): TurnsOfLines {
  if (given === undefined || given === null) return { turns: lines.map(() => []), named: [] };
  const isFlat = !Array.isArray(given) || !given.some(Array.isArray);
  const lists: number[][] = [];
  for (const list of isFlat ? [numbersIn(given)] : given.map(numbersIn)) {
    if (!list) return { refused: `turns: holds something that is no number of a turn. ${EXAMPLE}` };
    const wrong = list.find((number) => number < 1 || number > count);
    if (wrong !== undefined) return { refused: `turns: there is no turn ${wrong}. They are numbered 1 to ${count}. ${EXAMPLE}` };
    lists.push(list);
  }
  const named = [...new Set(lists.flat())];
  if (lines.length === 0) return { turns: [], named };
  if (lists.length === lines.length) return { turns: lists, named };
  const newLines = lines.filter(({ isNew }) => isNew).length;
  if (lists.length === 1) return { turns: lines.map(({ isNew }) => (isNew || newLines === 0 ? named : [])), named };
  if (lists.length === newLines) {
    const next = lists.values();
    return { turns: lines.map(({ isNew }) => (isNew ? (next.next().value ?? []) : [])), named };
  }
  return { refused: `turns: has ${lists.length} lists, and the content ${lines.length} lines. ${EXAMPLE}` };
}
