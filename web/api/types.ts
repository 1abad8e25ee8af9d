// `npm run build` and `npm run types` write described.ts from the description of the API.
import type * as Described from "./described.ts";

export type * from "./described.ts";
export type AgentType = NonNullable<Described.ChatRequest["agent_type"]>;
export type AnswerValue = Described.StoredAnswer["answer"];
export type ContextCompressed = Extract<Described.TurnEvent, { status: "context_compressed" }>["content"];
export type DecisionRejected = Extract<Described.TurnEvent, { status: "decision_rejected" }>["content"];
export type Episode = Described.EpisodeList["episodes"][number];
export type ErrorContent = Omit<Described.TurnError, "code"> & { code: string };
export type Message = Described.MessageList["messages"][number];
export type ModelFacts = Described.ModelList["models"][number];
export type Notice = Described.Turn["notices"][number];
export type OpenQuestion = Described.OpenQuestions["questions"][number];
export type Operation = Described.OperationList["operations"][number];
export type Permission = Described.Permissions["permissions"][number];
export type PlanItem = Extract<Described.TurnEvent, { status: "plan" }>["content"]["items"][number];
export type Problem = NonNullable<Described.ErrorAnswer["error"]["details"]>[number];
export type Rating = NonNullable<Described.RatingAnswer["rating"]>;
export type Section = Described.CoreMemory["sections"][number];
export type PromptTokens = NonNullable<Described.Receipt["prompt_tokens"]>;
export type ToolCallEvent = Extract<Described.TurnEvent, { status: "tool_call" }>["content"];
export type ToolResultEvent = Extract<Described.TurnEvent, { status: "tool_result" }>["content"];
export type Timings = Described.TurnResult["timings"];
