import { openPostgres } from "../../../stores/postgres/database/open-postgres.ts";
import { startModelServer } from "../../servers/model-server.ts";
import { askAndAnswer } from "./asked-person.ts";
import { LEASE_MS, MAIN, orderCarelessly, RAN, startCounter, UNKNOWN } from "./tool-kills.ts";
import { type KillsAt, openTwoPlaces } from "./two-places.ts";

/** That a process sends around a question, or around an answer; those of its jobs come in between. `chief`: its member asks. */
const STATEMENTS = { asks: 14, chief: 20 };

export interface QuestionKills {
  rounds: number;
  kills: number;
  at: KillsAt;
  ran: number;
  /** It was not known whether the call had run: the person was asked again, and said no. */
  unknown: number;
  slowestMs: number;
}

const QUESTIONS = `
select questions.id, answered_by as "answeredBy", (select count(*)::int from decisions where decisions.id = questions.id) as decisions
from questions join turns on turns.id = questions.turn_id join messages on messages.id = turns.question_id
where messages.content = $1`;

interface KeptQuestion {
  id: string;
  answeredBy: string | null;
  decisions: number;
}

/**
 * Two processes with an agent that asks on the empty database of this URL. In each round somebody orders once and allows it, and a process is
 * killed at another statement around the question or around the answer. Resolves with figures and with everything that was wrong, in words.
 */
export async function killAskingTurns(
  databaseUrl: string,
  { rounds, agent }: { rounds: number; agent: keyof typeof STATEMENTS },
): Promise<{ figures: QuestionKills; wrongs: string[] }> {
  await using opened = new AsyncDisposableStack();
  const counter = await startCounter();
  opened.defer(() => counter.close());
  const model = await startModelServer({ keepSeen: false });
  opened.defer(() => model.close());
  model.answer(orderCarelessly);
  const database = await openPostgres(databaseUrl);
  opened.defer(() => database.close());
  const environment = { OPENAI_BASE_URL: model.url, COUNTER_URL: counter.origin, ENABLE_SUMMARY: "false", TURN_LEASE_MS: String(LEASE_MS) };
  const { places, at, armed, close } = await openTwoPlaces(databaseUrl, environment, MAIN);
  opened.defer(close);
  const figures: QuestionKills = { rounds, kills: 0, at, ran: 0, unknown: 0, slowestMs: 0 };
  const wrongs: string[] = [];

  for (let round = 0; round < rounds; round++) {
    const item = `item-${round}`;
    const isAtAnswer = round % 2 === 1; // else around the question
    const [place, other] = Math.floor(round / 2) % 2 === 0 ? places : [places[1], places[0]];
    const blow = (Math.floor(round / 2) * 5) % (2 * STATEMENTS[agent]);
    const disarming = isAtAnswer ? [] : [armed(place, blow)];
    // The one that is to be killed is asked first. What it asked is answered at the other one, and what the other one asked here.
    const here = () => [place.service.url, other.service.url];
    const there = () => here().toReversed();
    const report = await askAndAnswer({
      key: `key-${round}`,
      body: { user_id: "ada", session_id: item, message: `order ${item}`, agent },
      addresses: (work) => ((work === "ask") === isAtAnswer ? there() : here()),
      reply: (number) => (number === 0 ? "allow_once" : "deny"),
      beforeAnswer: () => void (isAtAnswer && disarming.push(armed(place, blow))),
    });
    for (const disarm of disarming) await disarm();

    const count = counter.runs.get(item) ?? 0;
    const kept = await database.query<KeptQuestion>({ text: QUESTIONS, values: [`order ${item}`] });
    const found: string[] = [];
    const { answer, questions, taken } = report;
    if (count > 1) found.push(`the tool ran ${count} times`);
    if (answer !== RAN && answer !== UNKNOWN) found.push(`it ended with ${JSON.stringify(answer)}`);
    if (answer === RAN && count !== 1) found.push("the answer says that the tool ran, and it did not");
    if (answer === UNKNOWN && questions.length < 2) found.push("it was not known whether the tool ran, and nobody was asked again");
    if (taken > questions.length) found.push(`${taken} answers were taken of ${questions.length} questions`);
    for (const { id, answeredBy, decisions } of kept) {
      if (answeredBy === null) found.push(`question ${id} is still open`);
      if (decisions !== (answeredBy === "person" ? 1 : 0))
        found.push(`of question ${id}, answered by ${answeredBy}, ${decisions} decisions are kept`);
    }
    if (found.length > 0)
      wrongs.push(`ROUND ${round}, ${item}: ${found.join("; ")}\n  ${report.journal.join("\n  ")}\n  ${JSON.stringify(kept)}`);
    if (answer === RAN) figures.ran++;
    if (answer === UNKNOWN) figures.unknown++;
    figures.slowestMs = Math.max(figures.slowestMs, report.ms);
  }
  figures.kills = Object.values(at).reduce((sum, kills) => sum + kills, 0);
  return { figures, wrongs };
}
