import { afterEach, describe, expect, test } from "@jest/globals";
import { useGraphWithModel } from "../support/services/graph-with-model.ts";
import { waitUntil } from "../support/wait-until.ts";

/** What a refused statement counts stays: a sequence is not rolled back. */
const FULL = `
create sequence refused;
create function refuse_as_full() returns trigger language plpgsql as
$$ begin perform nextval('refused'); raise exception 'could not extend file: No space left on device' using errcode = 'disk_full'; end $$;
create trigger full_disk before insert on messages for each row when (new.role = 'assistant') execute function refuse_as_full()`;

describe("a turn whose answer has no room on the disk", () => {
  const opened = useGraphWithModel({ storeMs: 500 });
  const fill = () => opened.database.query({ text: FULL });
  const makeRoom = () => opened.database.query({ text: "drop function if exists refuse_as_full cascade; drop sequence if exists refused" });
  const isRefused = async () => (await opened.database.query({ text: "select from refused where is_called" })).length > 0;
  afterEach(makeRoom);
  const answersOf = async (talk: ReturnType<typeof opened.makeTalk>): Promise<string[]> =>
    (await talk.stored()).filter(({ role }) => role === "assistant").map(({ content }) => content);

  test("ends as storage_unavailable after its deadline, and its answer is stored when there is room", async () => {
    const talk = opened.makeTalk();
    await fill();
    const turn = talk.start("Hello!");
    const last = await turn.ended;
    expect(last).toMatchObject({ status: "error", content: { code: "storage_unavailable", retryable: true } });
    expect(last.content).toMatchObject({ message: expect.stringMatching(/cannot be stored.*as soon as.*turns\/[0-9a-f-]{36}/) as unknown });
    expect(await answersOf(talk)).toEqual([]);
    await makeRoom();
    await waitUntil("the answer", async () => (await answersOf(talk)).length === 1);
    expect(await answersOf(talk)).toEqual(["Hi there."]);
    expect(await talk.say("And now?")).toMatchObject({ status: "done", content: { receipt: { window_messages: 2 } } });
  });

  test("ends as done when there is room before its deadline", async () => {
    const talk = opened.makeTalk(opened.makeGraph({ storeMs: 60_000 }));
    await fill();
    const turn = talk.start("Hello!");
    await waitUntil("the answer is refused", isRefused);
    await makeRoom();
    expect(await turn.ended).toMatchObject({ status: "done", content: { answer: "Hi there." } });
    expect(await answersOf(talk)).toEqual(["Hi there."]);
  });
});
