import { expect } from "@jest/globals";
import { pngUrl } from "../samples/sample-pictures.ts";
import type { DescribedClient } from "./described-call.ts";

/** Sends a picture, which the built-in model refuses and the service keeps, and reads it again. */
export async function askForPicture(client: DescribedClient, turn: object): Promise<void> {
  const { status, headers } = await client.call("runTurn", {
    body: { ...turn, message: [{ type: "image_url", image_url: pngUrl(2, 2) }] },
  });
  const { values } = await client.call("getTurn", { params: { id: headers.get("x-turn-id") ?? "" } });
  const kept = await client.call("getAttachment", { params: { id: String(values[0]?.["message_id"]), position: "0" } });
  expect([status, kept.status]).toEqual([400, 200]);
}
