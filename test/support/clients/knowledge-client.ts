import { expect } from "@jest/globals";
import { callApi, type ApiResponse, type ErrorBody } from "./api-client.ts";
import { waitUntil } from "../wait-until.ts";

export interface ShownDocument {
  id: string;
  title: string;
  status: "pending" | "indexed" | "failed";
  chunk_count: number;
  error: string | null;
  external_id: string | null;
  metadata: Record<string, unknown>;
}

/** The knowledge routes of a running service, for one caller. */
export interface KnowledgeClient {
  put(kb: string, body: object): Promise<ApiResponse<ErrorBody>>;
  /** A document as JSON. */
  add(kb: string, body: object): Promise<ApiResponse<ErrorBody & ShownDocument>>;
  /** A file as it is. */
  upload(
    kb: string,
    query: Record<string, string>,
    contentType: string,
    bytes: string | Uint8Array<ArrayBuffer>,
  ): Promise<ApiResponse<ErrorBody & ShownDocument>>;
  list(kb: string): Promise<ShownDocument[]>;
  remove(path: string): Promise<ApiResponse<ErrorBody>>;
  /** When none is pending any more. */
  settled(kb: string): Promise<ShownDocument[]>;
}

export function makeKnowledgeClient(url: string, headers: Record<string, string> = {}): KnowledgeClient {
  const at = (path: string): string => `${url}/api/v1/knowledge/${path}`;
  const json = (method: string, body: object) => ({
    method,
    headers: { ...headers, "content-type": "application/json" },
    body: JSON.stringify(body),
  });
  const list = async (kb: string): Promise<ShownDocument[]> => {
    const answer = await callApi<{ documents: ShownDocument[] }>(at(`${kb}/documents`), { headers });
    expect(answer.status).toBe(200);
    return answer.json.documents;
  };
  return {
    put: (kb, body) => callApi(at(kb), json("PUT", body)),
    add: (kb, body) => callApi(at(`${kb}/documents`), json("POST", body)),
    upload: (kb, query, contentType, bytes) =>
      callApi(at(`${kb}/documents?${new URLSearchParams(query).toString()}`), {
        method: "POST",
        headers: { ...headers, "content-type": contentType },
        body: bytes,
      }),
    list,
    remove: (path) => callApi(at(path), { method: "DELETE", headers }),
    async settled(kb) {
      const documents = await waitUntil(
        `the documents of ${kb} are read`,
        async () => {
          const all = await list(kb);
          return all.every(({ status }) => status !== "pending") && all;
        },
        60_000,
      );
      return documents;
    },
  };
}
