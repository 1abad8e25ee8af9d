import type { ConversationState } from "./state.ts";

/** Which node answers: the handler of the turn's knowledge base where it has one, else the general generator. */
export function chooseGenerator(hasHandler: (kbPrefix: string) => boolean) {
  return ({ kbPrefix, error }: Pick<ConversationState, "kbPrefix" | "error">): "generate_kb" | "generate_rag" =>
    error === null && hasHandler(kbPrefix) ? "generate_kb" : "generate_rag";
}
