import { channel } from "node:diagnostics_channel";
import type { IncomingMessage, ServerResponse } from "node:http";

export type WatchedResponse = { response: ServerResponse; mostBuffered: number };

/** Watches the responses of this process to requests for `path`; `stop` ends it. Uses only Node's diagnostics, nothing of the service. */
export function watchResponses(path: string): { responses: WatchedResponse[]; stop: () => void } {
  const responses: WatchedResponse[] = [];
  const started = channel("http.server.request.start");
  const watch = (message: unknown): void => {
    const { request, response } = message as { request: IncomingMessage; response: ServerResponse };
    if (request.url !== path) return;
    const watched = { response, mostBuffered: 0 };
    responses.push(watched);
    const write = response.write.bind(response) as (...parts: unknown[]) => boolean;
    response.write = (...parts: unknown[]): boolean => {
      const hasRoom = write(...parts);
      watched.mostBuffered = Math.max(watched.mostBuffered, response.writableLength);
      return hasRoom;
    };
  };
  started.subscribe(watch);
  return { responses, stop: () => void started.unsubscribe(watch) };
}
