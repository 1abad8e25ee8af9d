import { expect, test } from "@jest/globals";
import { toTrigger } from "../../../memory/agent/remember-turns.ts";
import { turnToRead } from "../../support/samples/sample-agent.ts";

test("triggerOf names the message, its time and who it came from, and no word of it", () => {
  const turn = turnToRead("My cat is called Minka.", 1, { actor: "import" });
  expect(toTrigger(turn)).toEqual({ messageId: turn.messageId, saidAt: turn.saidAt, actor: "import" });
});
