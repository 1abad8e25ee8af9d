const BAR_WIDTH = 30;
let isShown = false;

export function showProgress(done: number, total: number, of: string): void {
  isShown = true;
  const share = total === 0 ? 1 : Math.min(1, done / total);
  const bar = "█".repeat(Math.round(share * BAR_WIDTH)).padEnd(BAR_WIDTH, "░");
  process.stderr.write(`\r${bar} ${Math.floor(share * 100)} %  ${done} of ${total} ${of}`);
}

/** A text on a line of its own. */
export const belowProgress = (text: string): string => (isShown ? `\n${text}` : text);
