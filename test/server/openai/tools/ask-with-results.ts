import { MODEL, openClient, says } from "../open-client.ts";

export const parameters = { type: "object", properties: { city: { type: "string" } } };

/** What an application sets anew with each request, in the words of neither API. */
export interface Application {
  instructions?: string;
  tools?: string[];
  tool_choice?: "none" | "required" | { named: string };
  model?: string;
  limit?: number;
  temperature?: number;
  form?: object;
}

/** What a client gets. */
export interface Got {
  text: string | null;
  reason: string | null;
  calls: string[];
  id: string;
}

export type Result = { callId: string; output: string };
type Ask = (url: string, user: string, application: Application, results?: { of: Got; given: Result[] }) => Promise<Got>;

export function completions(stream: boolean): Ask {
  return async (url, user, { instructions, tools, tool_choice: choice, model = MODEL, limit, temperature, form }, results) => {
    const called = results && {
      role: "assistant" as const,
      tool_calls: results.given.map(({ callId }, index) => ({
        id: callId,
        type: "function" as const,
        function: { name: results.of.calls[index] ?? "", arguments: "{}" },
      })),
    };
    const body = {
      model,
      user,
      messages: [
        ...(instructions ? [{ role: "system" as const, content: instructions }] : []),
        says(`How is it in ${user}?`),
        ...(called ? [called] : []),
        ...(results?.given ?? []).map(({ callId, output }) => ({ role: "tool" as const, tool_call_id: callId, content: output })),
      ],
      ...(tools ? { tools: tools.map((name) => ({ type: "function" as const, function: { name, parameters } })) } : {}),
      ...(choice
        ? { tool_choice: typeof choice === "object" ? { type: "function" as const, function: { name: choice.named } } : choice }
        : {}),
      ...(limit ? { max_tokens: limit } : {}),
      ...(temperature === undefined ? {} : { temperature }),
      ...(form
        ? { response_format: { type: "json_schema" as const, json_schema: { name: "form", schema: form as Record<string, unknown> } } }
        : {}),
    };
    const { chat } = openClient(url);
    const completion = stream
      ? await chat.completions.stream({ ...body, stream: true }).finalChatCompletion()
      : await chat.completions.create(body);
    const [choiceOf] = completion.choices;
    const calls = (choiceOf?.message.tool_calls ?? []).map((call) => ("function" in call ? call.function.name : ""));
    return { text: choiceOf?.message.content ?? null, reason: choiceOf?.finish_reason ?? null, calls, id: completion.id };
  };
}

export function responses(stream: boolean, place: "previous" | "whole"): Ask {
  return async (url, user, { instructions, tools, tool_choice: choice, model = MODEL, limit, temperature, form }, results) => {
    const asked = { role: "user" as const, content: `How is it in ${user}?` };
    const outputs = (results?.given ?? []).map(({ callId, output }) => ({
      type: "function_call_output" as const,
      call_id: callId,
      output,
    }));
    const calls = (results?.given ?? []).map(({ callId }, index) => ({
      type: "function_call" as const,
      call_id: callId,
      name: results?.of.calls[index] ?? "",
      arguments: "{}",
    }));
    const body = {
      model,
      user,
      input: results && place === "previous" ? outputs : [asked, ...calls, ...outputs],
      ...(results && place === "previous" ? { previous_response_id: results.of.id } : {}),
      ...(instructions ? { instructions } : {}),
      ...(tools ? { tools: tools.map((name) => ({ type: "function" as const, name, parameters, strict: false })) } : {}),
      ...(choice ? { tool_choice: typeof choice === "object" ? { type: "function" as const, name: choice.named } : choice } : {}),
      ...(limit ? { max_output_tokens: limit } : {}),
      ...(temperature === undefined ? {} : { temperature }),
      ...(form ? { text: { format: { type: "json_schema" as const, name: "form", schema: form as Record<string, unknown> } } } : {}),
    };
    const client = openClient(url).responses;
    const response = stream ? await client.stream(body).finalResponse() : await client.create(body);
    const made = response.output.flatMap((item) => (item.type === "function_call" ? [item.name] : []));
    return { text: response.output_text, reason: made.length > 0 ? "tool_calls" : "stop", calls: made, id: response.id };
  };
}
