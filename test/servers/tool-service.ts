import { createServer } from "node:http";
import { tool } from "@langchain/core/tools";
import { z } from "zod";
import { fromLangChainTool, openService } from "conversation-graph";

/**
 * The main file of a process: the service, with agents whose tool tells COUNTER_URL of each run: one may call it, one asks, and each has a
 * lead. It may be killed in between.
 */
const { COUNTER_URL: counter, PORT: port, CLOCK_SHIFT_MS: shift } = process.env;
const settings = Object.fromEntries(
  Object.entries(process.env).filter(([name]) => !["COUNTER_URL", "PORT", "PATH", "CLOCK_SHIFT_MS"].includes(name)),
);

/** This machine's clock is wrong by so much. */
if (shift) {
  const RightDate = Date;
  globalThis.Date = class extends RightDate {
    constructor(at = RightDate.now() + Number(shift)) {
      super(at);
    }
    static override now = (): number => RightDate.now() + Number(shift);
  } as DateConstructor;
}

const order = tool(
  async ({ item }) => {
    const { ok } = await fetch(`${counter}/${encodeURIComponent(item)}`, { method: "POST" });
    if (!ok) throw new Error("the order was not taken");
    return `ordered ${item}`;
  },
  { name: "order", description: "Orders an item.", schema: z.object({ item: z.string() }) },
);

const service = await openService(settings, {
  tools: [fromLangChainTool(order)],
  agents: {
    clerk: { description: "Orders", tools: ["order"], permissions: [{ tool: "order", action: "allow" }] },
    asks: { description: "Asks before it orders", tools: ["order"] },
    boss: { description: "Has things ordered", subagents: ["clerk"] },
    chief: { description: "Has things ordered, and asks", subagents: ["asks"] },
  },
});
process.once("SIGTERM", () => void service.close().finally(() => process.exit()));
createServer(service.app).listen(Number(port), "127.0.0.1", () => console.log(`listening on ${port}`));
