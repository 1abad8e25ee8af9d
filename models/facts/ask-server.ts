import { z } from "zod";
import { type Gateway, serverHeaders, serverUrl, withV1 } from "../wire/server-address.ts";
import type { AskContext, ToldContext } from "./model-facts.ts";

const size = z.number().int().positive().optional().catch(undefined);

/** vLLM says `max_model_len`, OpenRouter `context_length`, Groq `context_window`, Mistral `max_context_length`, llama.cpp `meta.n_ctx`. */
const Listed = z.looseObject({
  id: z.string().catch(""),
  max_model_len: size,
  context_length: size,
  context_window: size,
  max_context_length: size,
  meta: z.looseObject({ n_ctx: size }).nullish().catch(null),
});
/** Together answers with the list itself. */
const ModelList = z.union([z.looseObject({ data: z.array(Listed) }), z.array(Listed).transform((data) => ({ data }))]);

const Props = z.looseObject({ default_generation_settings: z.looseObject({ n_ctx: size }) });

const Shown = z.looseObject({ parameters: z.string().nullish().catch(null), model_info: z.record(z.string(), z.unknown()).nullish() });
const Running = z.looseObject({
  models: z.array(z.looseObject({ name: z.string().catch(""), model: z.string().catch(""), context_length: size })),
});

interface Server extends Gateway {
  url: string;
  apiKey: string | undefined;
}

/** Undefined: the route is missing, or answers something else. Throws while the server cannot be reached. */
async function read<Answer>(schema: z.ZodType<Answer>, { apiKey, ...gateway }: Server, address: URL, request: RequestInit) {
  const headers = serverHeaders(address, apiKey, gateway);
  const response = await fetch(address, { ...request, headers });
  if (response.status >= 500) throw new Error(`status ${response.status}`);
  const answer: unknown = response.ok ? await response.json().catch(() => null) : await response.body?.cancel();
  return schema.safeParse(answer).data;
}

/**
 * Ollama serves a model with `num_ctx`, or as it was loaded; its trained context is only the most. A server that does not list loaded
 * models is no Ollama, and gets no POST.
 */
async function askOllama(server: Server, root: string, model: string, signal: AbortSignal): Promise<ToldContext | null> {
  const running = await read(Running, server, serverUrl(root, "/api/ps"), { signal });
  if (!running) return null;
  const shown = await read(Shown, server, serverUrl(root, "/api/show"), { method: "POST", body: JSON.stringify({ model }), signal });
  const set = /^num_ctx\s+(\d+)/m.exec(shown?.parameters ?? "")?.[1];
  if (set !== undefined) return { tokens: Number(set), isFirm: true };
  const loaded = running.models.find(({ name, model: id }) => [name, id].some((one) => one === model || one === `${model}:latest`));
  if (loaded?.context_length !== undefined) return { tokens: loaded.context_length, isFirm: true };
  const trained = Object.entries(shown?.model_info ?? {}).find(([key]) => key.endsWith(".context_length"))?.[1];
  return typeof trained === "number" && trained > 0 ? { tokens: trained, isFirm: false } : null;
}

/** Asks a server (vLLM and its like, llama.cpp, Ollama) for a model's context. */
export function makeAskContext(server: Server): AskContext {
  const address = serverUrl(server.url, "/models");
  const root = serverUrl(server.url, "").href.replace(/\/v1(?=$|\?)/, "");
  return async function askContext(model, signal) {
    const list =
      (await read(ModelList, server, address, { signal })) ??
      (/\/v\d/.test(address.pathname) ? undefined : await read(ModelList, server, withV1(address), { signal }));
    const listed = list?.data.find(({ id }) => id === model) ?? (list?.data.length === 1 ? list.data[0] : undefined);
    const tokens = listed?.max_model_len ?? listed?.context_length ?? listed?.context_window ?? listed?.max_context_length;
    if (tokens !== undefined) return { tokens, isFirm: true };
    const props = await read(Props, server, serverUrl(root, "/props"), { signal });
    const served = props?.default_generation_settings.n_ctx ?? listed?.meta?.n_ctx;
    if (served !== undefined) return { tokens: served, isFirm: true };
    return askOllama(server, root, model, signal);
  };
}
