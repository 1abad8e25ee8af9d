/** One contender's value on one line. */
export interface Line {
  line: string;
  better: "less" | "more";
  name: string;
  isOurs: boolean;
  value: number;
}

/** One of ours against one peer on one line. */
export interface Comparison {
  line: string;
  ours: string;
  peer: string;
  ourValue: number;
  peerValue: number;
  result: "ahead" | "level" | "behind";
}

function resultOf(ours: Line, peer: Line): Comparison["result"] {
  if (ours.value === peer.value) return "level";
  return ours.value < peer.value === (ours.better === "less") ? "ahead" : "behind";
}

/** Every one of ours against every peer, line by line. Level is only what is the same number. */
export function compareLines(lines: Line[]): Comparison[] {
  return lines
    .filter(({ isOurs }) => isOurs)
    .flatMap((ours) =>
      lines
        .filter((peer) => !peer.isOurs && peer.line === ours.line)
        .map((peer) => ({
          line: ours.line,
          ours: ours.name,
          peer: peer.name,
          ourValue: ours.value,
          peerValue: peer.value,
          result: resultOf(ours, peer),
        })),
    );
}
