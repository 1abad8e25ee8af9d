import type { Figure } from "../figures.ts";
import { sumOf } from "./erasing.ts";
import type { PeerResults } from "./figures.ts";
import { LOOKED_AT } from "./prompts.ts";

function table(head: string[], rows: string[][]): string {
  const line = (cells: string[]): string => `| ${cells.join(" | ")} |`;
  return [line(head), line(head.map(() => "---")), ...rows.map(line)].join("\n");
}

const short = (value: number): string => value.toFixed(value < 10 ? 1 : 0);

function speedTable(figures: Figure[], conversations: string): string {
  const titles = [
    "first token",
    "turn",
    "turns a second",
    "CPU a turn, while answering",
    "CPU a turn, with background work",
    "CPU a turn, with background work and stores",
  ];
  const named = (title: string, name: string): Figure | undefined =>
    figures.find((figure) => figure.name === `${title}, ${conversations}: ${name}`);
  const prefix = `turn, ${conversations}: `;
  const names = figures.filter(({ name }) => name.startsWith(prefix)).map(({ name }) => name.slice(prefix.length));
  const cell = (title: string, name: string): string => {
    const figure = named(title, name);
    if (!figure) return "";
    return figure.unit === "ms" ? `${short(figure.p50)} / ${short(figure.p95)} / ${short(figure.p99)}` : short(figure.p50);
  };
  return table(
    [
      conversations,
      "first token ms (p50 / p95 / p99)",
      "turn ms (p50 / p95 / p99)",
      "turns/s",
      "CPU ms a turn",
      "with background",
      "with stores",
    ],
    names.map((name) => [name, ...titles.map((title) => cell(title, name))]),
  );
}

export function printPeers({ figures, comparisons, prompts, conflicts, erasing }: PeerResults): void {
  console.log(speedTable(figures, "1 conversation"));
  console.log(speedTable(figures, "10 conversations"));
  const ratios = figures.filter(({ unit }) => unit === "times");
  console.log(
    table(
      ["turns a second", "times (p50; rounds from, to)", "goal"],
      ratios.map(({ name, p50, spread, goal }) => [
        name,
        `${p50.toFixed(1)} (${spread.lowest.toFixed(1)}, ${spread.highest.toFixed(1)})`,
        goal?.met ? "met" : "not met",
      ]),
    ),
  );
  const perTurn = (values: Record<number, unknown[]>): string[] => LOOKED_AT.map((turn) => (values[turn] ?? []).map(String).join(", "));
  console.log(
    table(
      [
        "prompt tokens (English, Chinese)",
        ...LOOKED_AT.map((turn) => `turn ${turn}`),
        ...LOOKED_AT.map((turn) => `knows, turn ${turn}`),
        "sent a turn",
        "of it in the background",
      ],
      prompts.map(({ name, promptTokens, holdsFact, answerTokensPerTurn, backgroundTokensPerTurn }) => [
        name,
        ...perTurn(promptTokens),
        ...perTurn(holdsFact),
        short(answerTokensPerTurn + backgroundTokensPerTurn),
        short(backgroundTokensPerTurn),
      ]),
    ),
  );
  console.log(
    table(
      ["10 turns at once, 5 times", "acknowledged", "refused", "failed", "messages lost", "doubled"],
      conflicts.map(({ name, ...counts }) => [
        name,
        ...[counts.acknowledged, counts.refused, counts.failed, counts.lost, counts.doubled].map(String),
      ]),
    ),
  );
  console.log(
    table(
      ["rows of all stores", "before", "after the delete", "where", "hashes kept on purpose"],
      erasing.map(({ name, before, after, marksLeft }) => [
        name,
        String(sumOf(before)),
        String(sumOf(after)),
        Object.keys(after).join(", "),
        String(sumOf(marksLeft)),
      ]),
    ),
  );
  const notAhead = comparisons.filter(({ result }) => result === "behind");
  console.log(
    table(
      ["behind on", "ours", "peer"],
      notAhead.map(({ line, ours, peer, ourValue, peerValue }) => [line, `${ours}: ${short(ourValue)}`, `${peer}: ${short(peerValue)}`]),
    ),
  );
  console.log(
    `${comparisons.filter(({ result }) => result === "ahead").length} ahead, ${comparisons.filter(({ result }) => result === "level").length} level, ${notAhead.length} behind`,
  );
}
