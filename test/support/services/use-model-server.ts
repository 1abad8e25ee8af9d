import { afterAll, beforeAll, beforeEach } from "@jest/globals";
import type { AnswerTimeouts } from "../../../models/deadlines.ts";
import { type ModelScript, type ModelServer, startModelServer } from "../../servers/model-server.ts";

/** Deadlines that no test reaches. */
export const PATIENT: Readonly<AnswerTimeouts> = { firstTokenMs: 20_000, idleMs: 20_000 };

export interface UsedModelServer extends Omit<ModelServer, "close"> {
  /** Answers the first request with the first script, and so on; those beyond with the last. */
  answerInTurn(...scripts: ModelScript[]): void;
}

/** One model server for all tests of a file or `describe`. Before each, it has seen nothing and gives its default answer. */
export function useModelServer(): UsedModelServer {
  let server: ModelServer | undefined;
  const running = (): ModelServer => {
    if (!server) throw new Error("the model server starts before the first test");
    return server;
  };
  beforeAll(async () => void (server = await startModelServer()));
  afterAll(() => server?.close());
  beforeEach(() => {
    running().seen.splice(0);
    running().answer({});
  });
  return {
    get url() {
      return running().url;
    },
    get seen() {
      return running().seen;
    },
    answer: (script) => running().answer(script),
    hold: (tokens) => running().hold(tokens),
    untilAsked: (count) => running().untilAsked(count),
    answerInTurn(...scripts) {
      running().answer(() => scripts[Math.min(running().seen.length, scripts.length) - 1] ?? {});
    },
  };
}
