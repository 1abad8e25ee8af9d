/** A call in a request to `/chat/completions`. */
export interface WireCall {
  id: string;
  type: "function";
  function: { name: string; arguments: string };
  [field: string]: unknown;
}

/** A message of a request to `/chat/completions`. */
export interface WireMessage {
  role: "system" | "developer" | "user" | "assistant" | "tool";
  content: string | readonly object[] | null;
  name?: string;
  tool_calls?: readonly WireCall[];
  tool_call_id?: string;
  [field: string]: unknown;
}
