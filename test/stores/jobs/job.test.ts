import { describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { jobKey, layerJob, ownerJobKey } from "../../../stores/jobs/job.ts";
import { LOOK_ALIKES } from "./look-alikes.ts";

describe("the key of a user's job", () => {
  test("differs for each user, and is a hash", () => {
    expect(new Set(LOOK_ALIKES.map(ownerJobKey)).size).toBe(LOOK_ALIKES.length);
    const key = ownerJobKey({ tenantId: "my tenant", userId: "my user" });
    expect(key).toMatch(/^remember\/[\w-]{43}$/);
    expect(key).toBe(jobKey({ kind: "remember", tenantId: "my tenant", userId: "my user" }));
  });

  test("is the same for all conversations of the user; other jobs of memory have a key for each conversation", () => {
    const owner = { tenantId: "t", userId: "u" };
    expect(layerJob("remember", { ...owner, conversationId: uuidv7() })).toEqual({ kind: "remember", ...owner });
    const job = layerJob("summarise", { ...owner, conversationId: "c" });
    expect([job, jobKey(job)]).toEqual([{ kind: "summarise", ...owner, conversationId: "c" }, "summarise/c"]);
  });
});
