import type { ListedMcpServer } from "../api/types.ts";
import { texts } from "../texts/texts.ts";

const LOOKS = { idle: "badge", connected: "badge state-up", down: "badge state-down" };

export function McpState({ state }: Pick<ListedMcpServer, "state">) {
  return <span class={LOOKS[state]}>{texts.value.agents.states[state]}</span>;
}
