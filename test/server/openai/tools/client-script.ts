import { randomUUID } from "node:crypto";
import type { ChatRequestBody, ModelScript } from "../../../servers/model-server.ts";

/** What the model says when both cities were asked for. */
export const SAID = "It is sunny in Porto and sunny in Lagos.";
const CITIES = ["Porto", "Lagos"];

/**
 * Plays a model for the clients' own tests: answers in JSON where a form is wanted, extracts by the tool that must be called, asks for the
 * weather of each city, one after the other, and then says what it was told.
 */
export function answerClients({ messages, tools = [], tool_choice, response_format }: ChatRequestBody): ModelScript {
  if (response_format) return { tokens: ['{"city":', '"Porto"}'] };
  const call = (name: string, city: string): ModelScript => ({ toolCalls: [{ name, id: `call_${randomUUID()}`, arguments: { city } }] });
  const [tool] = tools;
  if (!tool) return { tokens: ["Hello ", "there"] };
  const told = messages.filter(({ role }) => role === "tool").map(({ content }) => /sunny in \w+/.exec(content)?.[0]);
  const city = CITIES[told.length];
  if (tool_choice === "required") return call(tool.function.name, "Porto");
  return city === undefined ? { tokens: [`It is ${told.join(" and ")}.`] } : call(tool.function.name, city);
}
