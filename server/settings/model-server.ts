import { ANTHROPIC_URL } from "../../models/anthropic-chat-model.ts";
import type { ModelSettings } from "../../models/model-error.ts";
import type { Gateway } from "../../models/wire/server-address.ts";
import type { Config } from "./config.ts";
import type { ListedModel } from "./read-model-list.ts";

export const OPENAI_URL = "https://api.openai.com/v1";

export interface ModelServer extends Gateway {
  url: string;
  apiKey: string | undefined;
}

/** How the service's own server is reached. Another server gets none of its headers. */
export function ownGateway({ MODEL_HEADERS: headers, MODEL_EXTRA_BODY: extraBody, MODEL_KEY_HEADER: keyHeader }: Config): Gateway {
  return { headers, extraBody, keyHeader };
}

/** A model of MODELS: what its entry leaves out comes from the service. */
export function settingsInList(name: string, { api, base_url, api_key }: ListedModel): ModelSettings {
  const inEntry = (field: string): string => `${field} of "${name}" in MODELS`;
  const isElsewhere = base_url !== undefined || api === "anthropic";
  return {
    model: inEntry("model"),
    url: isElsewhere ? inEntry("base_url") : "OPENAI_BASE_URL",
    key: isElsewhere || api_key !== undefined ? inEntry("api_key") : "OPENAI_API_KEY",
  };
}

/** The server of a model: of MODELS, or of the service. A key, and a header, is sent to no server but its own. */
export function serverOf(config: Config, listed: ListedModel | undefined): ModelServer {
  const own: Gateway = { headers: listed?.headers, extraBody: listed?.extra_body, keyHeader: listed?.key_header };
  if (listed?.api === "anthropic") return { url: listed.base_url ?? ANTHROPIC_URL, apiKey: listed.api_key, ...own };
  if (listed?.base_url !== undefined) return { url: listed.base_url, apiKey: listed.api_key, ...own };
  const { headers, extraBody, keyHeader } = ownGateway(config);
  return {
    url: config.OPENAI_BASE_URL ?? OPENAI_URL,
    apiKey: listed?.api_key ?? config.OPENAI_API_KEY,
    headers: { ...headers, ...own.headers },
    extraBody: { ...extraBody, ...own.extraBody },
    keyHeader: own.keyHeader ?? keyHeader,
  };
}
