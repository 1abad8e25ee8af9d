import { beforeEach, describe, expect, test } from "@jest/globals";
import { isToolUIPart } from "ai";
import { makeUiChat, textOf } from "../../support/clients/ui-chat.ts";
import { callOf, ORDER_TOOLS } from "../../support/services/asking-agent.ts";
import { handTo, teamClient } from "../../support/services/asking-team.ts";
import { useServiceWithModel } from "../../support/services/service-with-model.ts";

const opened = useServiceWithModel({}, { extras: { tools: ORDER_TOOLS } });
let team: ReturnType<typeof teamClient>;
beforeEach(() => {
  team = teamClient(opened);
});

describe("a team in a chat of the AI SDK", () => {
  test("shows whose calls are whose, and asks to approve the call of the member that asks", async () => {
    await team.makeTeam({ left: { tools: ["order"] }, right: { tools: ["order"] } });
    await team.makeTeam({ both: { subagents: ["left", "right"], team: { strategy: "parallel" } } });
    const order = (item: string) => [callOf("order", { item }, `order-${item}`)];
    team.play({ left: [order("tea"), "Left."], right: [order("milk"), "Right."], both: ["Both."] });
    const chat = makeUiChat(opened.url, { agent: "both" });
    const first = await chat.say("Order.");
    const asked = first.parts.filter(isToolUIPart);
    const of = (agent: string) => ({ toolMetadata: { agent, path: ["both", agent] } });
    expect(asked.filter(({ toolCallId }) => toolCallId.startsWith("order-"))).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ ...of("left"), input: { item: "tea" }, state: "approval-requested" }),
        expect.objectContaining({ ...of("right"), input: { item: "milk" }, state: "input-available" }),
      ]),
    );
    const approve = async (message: typeof first) => {
      const parts = message.parts.map((part) =>
        isToolUIPart(part) && part.state === "approval-requested"
          ? { ...part, state: "approval-responded" as const, approval: { ...part.approval, approved: true } }
          : part,
      );
      chat.messages.splice(-1, 1, { ...message, parts });
      return chat.send();
    };
    const second = await approve(first);
    expect(second.parts.filter(isToolUIPart)).toEqual(
      expect.arrayContaining([
        expect.objectContaining({ ...of("left"), state: "output-available" }),
        expect.objectContaining({ ...of("right"), state: "approval-requested" }),
      ]),
    );
    expect(textOf(await approve(second))).toBe("Both.");
  });

  test("tells a handoff, and goes on with that agent when the next message names none", async () => {
    await team.makeTeam({ clerk: {}, front: { handoffs: ["clerk"] } });
    team.play({ front: [[handTo("clerk")]], clerk: ["Clerk."] });
    const chat = makeUiChat(opened.url, { agent: "front" });
    const handed = await chat.say("Papers.");
    expect(handed.parts.find(({ type }) => type === "data-handoff")).toMatchObject({ data: { from: "front", to: "clerk" } });
    expect([textOf(handed), handed.metadata]).toMatchObject(["Clerk.", { agent: "clerk" }]);
    const { events } = await team.ask("", { agent: undefined, session_id: chat.chatId, message: "And?" });
    expect(events.at(-1)?.data).toMatchObject({ status: "done", content: { agent: "clerk" } });
  });
});
