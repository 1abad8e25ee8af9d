import { beforeEach } from "@jest/globals";
import type { AnswerTimeouts } from "../../../turn/deadlines.ts";
import { type ModelScript, startModelServer } from "../../servers/model-server.ts";
import { useOpened } from "../use-opened.ts";

/** Deadlines that no test reaches. */
export const PATIENT: Readonly<AnswerTimeouts> = { firstTokenMs: 20_000, idleMs: 20_000 };

async function startScriptedServer() {
  const server = await startModelServer();
  return {
    ...server,
    /** Answers the first request with the first script, and so on; those beyond with the last. */
    answerInTurn: (...scripts: ModelScript[]): void => server.answer(() => scripts[Math.min(server.seen.length, scripts.length) - 1] ?? {}),
  };
}

/** One model server for all tests of a file or `describe`. Before each, it has seen nothing and gives its default answer. */
export function useModelServer() {
  const server = useOpened(startScriptedServer);
  beforeEach(() => {
    server.seen.splice(0);
    server.answer({});
  });
  return server;
}
