/** Lines that stayed, went or came, in order; neighbours of one kind stand together. */
export interface DiffPart {
  kind: "same" | "before" | "after";
  lines: string[];
}

/** Lengths of the longest common rests of both texts. */
function commonRests(old: readonly string[], fresh: readonly string[]): number[][] {
  const lengths = Array.from({ length: old.length + 1 }, () => new Array<number>(fresh.length + 1).fill(0));
  const at = (row: number, column: number): number => lengths[row]?.[column] ?? 0;
  for (let row = old.length - 1; row >= 0; row--) {
    for (let column = fresh.length - 1; column >= 0; column--) {
      const length = old[row] === fresh[column] ? at(row + 1, column + 1) + 1 : Math.max(at(row + 1, column), at(row, column + 1));
      (lengths[row] ??= [])[column] = length;
    }
  }
  return lengths;
}

const linesOf = (text: string | null): string[] => (text === null || text === "" ? [] : text.split("\n"));

/** What changed from one short text to another, by line. */
export function diffLines(old: string | null, fresh: string | null): DiffPart[] {
  const [before, after] = [linesOf(old), linesOf(fresh)];
  const rests = commonRests(before, after);
  const parts: DiffPart[] = [];
  function add(kind: DiffPart["kind"], line: string): void {
    const last = parts.at(-1);
    if (last?.kind === kind) last.lines.push(line);
    else parts.push({ kind, lines: [line] });
  }
  let [row, column] = [0, 0];
  while (row < before.length || column < after.length) {
    const [gone, come] = [before[row], after[column]];
    const keepsMore = (rests[row + 1]?.[column] ?? -1) >= (rests[row]?.[column + 1] ?? -1);
    if (gone !== undefined && gone === come) {
      add("same", gone);
      row++;
      column++;
    } else if (gone !== undefined && (come === undefined || keepsMore)) {
      add("before", gone);
      row++;
    } else {
      add("after", come ?? "");
      column++;
    }
  }
  return parts;
}
