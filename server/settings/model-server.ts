import type { Gateway } from "../../models/wire/server-address.ts";
import type { Config } from "./config.ts";

export interface ModelServer extends Gateway {
  url: string;
  apiKey: string | undefined;
}

/** How the service's own server is reached. Another server gets none of its headers. */
export function ownGateway({ MODEL_HEADERS: headers, MODEL_EXTRA_BODY: extraBody, MODEL_KEY_HEADER: keyHeader }: Config): Gateway {
  return { headers, extraBody, keyHeader };
}
