import type { TurnEvent } from "../turn/events.ts";
import type { Question } from "../turn/question.ts";

/** What the terminal shows of a turn's event. Of calls only those of members. */
export function linesOf(event: TurnEvent): string {
  if (event.status === "token") return event.content;
  if (event.status === "notice") return `\n[${event.content.message}]\n`;
  if (event.status === "error") return `\n[${event.content.code}: ${event.content.message}]`;
  if (event.status === "handoff") return `\n[${event.content.from} hands over to ${event.content.to}: ${event.content.reason}]\n`;
  if (event.status === "decision_rejected") return `\n[${event.content.rule}: ${event.content.name}: ${event.content.message}]\n`;
  if (event.status !== "tool_call" || event.content.path.length < 2) return "";
  const { agent, name, arguments: given } = event.content;
  return `\n[${agent}: ${name} ${JSON.stringify(given)}]\n`;
}

/** Which member asks, and for whom it works; nothing when the agent that answers asks. */
export const askerOf = ({ path }: Pick<Question, "path">): string => (path.length > 1 ? `\n[${path.join(" › ")} asks]\n` : "");
