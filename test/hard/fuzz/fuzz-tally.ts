/** What came of many requests. */
export interface Tally {
  count(operation: string, status: number): void;
  blame(problem: string): void;
  /** The first problems. */
  blamed: string[];
  /** Prints the statuses, of all and of each operation, and the memory after each batch, in bytes. */
  print(memory: readonly number[]): void;
}

const MOST_BLAMED = 20;
const MIB = 1024 * 1024;

export function makeTally(): Tally {
  const began = performance.now();
  const blamed: string[] = [];
  const byOperation = new Map<string, Map<number, number>>();
  const bump = (operation: string, status: number): void => {
    const counts = byOperation.get(operation) ?? new Map<number, number>();
    byOperation.set(operation, counts.set(status, (counts.get(status) ?? 0) + 1));
  };
  return {
    blamed,
    count(operation, status) {
      bump(operation, status);
      bump("all", status);
    },
    blame(problem) {
      if (blamed.length < MOST_BLAMED) blamed.push(problem);
    },
    print(memory) {
      const lines = [...byOperation].toSorted().map(([operation, counts]) => {
        const each = [...counts].toSorted(([one], [other]) => one - other).map(([status, count]) => `${status} × ${count}`);
        return `${operation}: ${each.join(", ")}`;
      });
      const seconds = Math.round((performance.now() - began) / 1_000);
      console.log(`${lines.join("\n")}\n${seconds} s; MiB: ${memory.map((bytes) => Math.round(bytes / MIB)).join(" ")}`);
    },
  };
}
