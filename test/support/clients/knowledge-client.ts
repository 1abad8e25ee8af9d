import { expect } from "@jest/globals";
import { callApi, postJson, putJson, type ErrorBody } from "./api-client.ts";
import { waitUntil } from "../wait-until.ts";

export interface ShownDocument {
  id: string;
  title: string;
  status: "pending" | "indexed" | "failed";
  chunk_count: number;
  error: string | null;
  can_read_again: boolean;
  external_id: string | null;
  metadata: Record<string, unknown>;
}

export type KnowledgeClient = ReturnType<typeof makeKnowledgeClient>;

export function makeKnowledgeClient(url: string, headers: Record<string, string> = {}) {
  const at = (path: string): string => `${url}/api/v1/knowledge/${path}`;
  const list = async (kb: string): Promise<ShownDocument[]> => {
    const answer = await callApi<{ documents: ShownDocument[] }>(at(`${kb}/documents`), { headers });
    expect(answer.status).toBe(200);
    return answer.json.documents;
  };
  return {
    put: (kb: string, body: object) => putJson(at(kb), body, headers),
    add: (kb: string, body: object) => postJson<ErrorBody & ShownDocument>(at(`${kb}/documents`), body, headers),
    /** A file as it is. */
    upload: (kb: string, query: Record<string, string>, contentType: string, bytes: string | Uint8Array<ArrayBuffer>) =>
      callApi<ErrorBody & ShownDocument>(at(`${kb}/documents?${new URLSearchParams(query).toString()}`), {
        method: "POST",
        headers: { ...headers, "content-type": contentType },
        body: bytes,
      }),
    list,
    readAgain: (kb: string, id: string) => postJson<ErrorBody & ShownDocument>(at(`${kb}/documents/${id}/read`), {}, headers),
    remove: (path: string) => callApi(at(path), { method: "DELETE", headers }),
    /** All documents, when none is pending any more. */
    settled(kb: string): Promise<ShownDocument[]> {
      const look = async () => {
        const all = await list(kb);
        return all.every(({ status }) => status !== "pending") && all;
      };
      return waitUntil(`the documents of ${kb} are read`, look);
    },
  };
}
