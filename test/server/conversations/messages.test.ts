import { afterAll, beforeAll, describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import type { TurnResult } from "../../../turn/events.ts";
import { callApi, listMessages, postJson, type ListedMessage } from "../../support/clients/api-client.ts";
import { expectRefusal } from "../../support/clients/expect-refusal.ts";
import { openTestService, type TestService } from "../../support/services/service.ts";

describe("messages over HTTP", () => {
  let service: TestService;
  let id: string;
  beforeAll(async () => {
    service = await openTestService();
    const turn = { user_id: "carol", session_id: "s", message: "where is it?" };
    id = (await postJson<TurnResult>(`${service.url}/api/v1/chat`, turn)).json.conversation_id;
  });
  afterAll(() => service.close());

  test("are found by their id", async () => {
    const [asked] = await listMessages(service.url, id);
    const found = (await service.get(`/api/v1/messages/${asked?.id}`)).json;
    expect(found).toEqual({ message: asked, conversation_id: id, user_id: "carol" });
    expectRefusal(await callApi(`${service.url}/api/v1/messages/${uuidv7()}`), { status: 404, code: "not_found" });
    expectRefusal(await callApi(`${service.url}/api/v1/messages/x`), { status: 400, code: "invalid_request" });
  });

  test("are listed from the oldest on, or from the newest", async () => {
    const address = `${service.url}/api/v1/conversations/${id}/messages`;
    const rolesBy = async (query: string) =>
      (await callApi<{ messages: ListedMessage[] }>(address + query)).json.messages.map(({ role }) => role);
    expect(await rolesBy("?order=newest_first")).toEqual(["assistant", "user"]);
    expect(await rolesBy("")).toEqual(["user", "assistant"]);
    expectRefusal(await callApi(`${address}?order=newest`), { status: 400, code: "invalid_request", field: "order" });
  });
});
