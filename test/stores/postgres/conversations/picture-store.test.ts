import { describe, expect, test } from "@jest/globals";
import { v7 as uuidv7 } from "uuid";
import { makeWindowStore } from "../../../../stores/postgres/turns/window-store.ts";
import { wordsWithPictures } from "../../../../turn/picture.ts";
import { describeStores } from "../../../support/databases/describe-stores.ts";
import { linkedPicture, pictureAt, pngUrl, samplePicture } from "../../../support/samples/sample-pictures.ts";

const BOUND = 1_000_000;

describeStores("the pictures of messages", ({ database, pictures, turns, erases, begin, complete, messagesOf }) => {
  const newOwner = () => ({ tenantId: "tenant", userId: uuidv7() });
  const kept = async (userId: string): Promise<number> =>
    (await database.query({ text: "select from pictures where user_id = $1", values: [userId] })).length;
  const wordsOf = (count: number) => wordsWithPictures("look", count);

  test("are read again in their order, kept ones with their bytes and others by their address", async () => {
    const owner = newOwner();
    const shown = [samplePicture(1), linkedPicture(), samplePicture(2)];
    const { messageId } = await begin({ ...owner, pictures: shown });
    expect(await pictures.ofMessages(owner, [messageId], BOUND)).toEqual(new Map([[messageId, shown]]));
  });

  test("are kept once for each user, however many messages show them", async () => {
    const [ada, bob] = [newOwner(), newOwner()];
    const same = samplePicture();
    await begin({ ...ada, pictures: [same, same] });
    await begin({ ...ada, pictures: [same] });
    await begin({ ...bob, pictures: [same] });
    expect([await kept(ada.userId), await kept(bob.userId)]).toEqual([1, 1]);
  });

  test("are listed with the message, without their bytes", async () => {
    const turn = await begin({ ...newOwner(), pictures: [samplePicture(), linkedPicture()] });
    const [message] = await messagesOf(turn);
    expect(message?.attachments).toEqual([
      { position: 0, url: null, detail: null, file: { mediaType: "image/png", width: 3, height: 2, byteCount: expect.any(Number) } },
      { position: 1, url: "https://example.org/cat.png", detail: null, file: null },
    ]);
  });

  test("are found by message and position, by nobody else", async () => {
    const owner = newOwner();
    const { messageId } = await begin({ ...owner, pictures: [samplePicture(), linkedPicture()] });
    const scope = { tenantId: owner.tenantId, userId: null };
    expect(await pictures.find(owner, messageId, 0)).toMatchObject({ mediaType: "image/png", hash: samplePicture().file?.hash });
    expect(await pictures.find(scope, messageId, 1)).toEqual({ url: "https://example.org/cat.png" });
    for (const other of [newOwner(), { tenantId: "other", userId: null }, { tenantId: "other", userId: owner.userId }])
      expect(await pictures.find(other, messageId, 0)).toBeNull();
    expect(await pictures.find(owner, messageId, 2)).toBeNull();
    expect((await pictures.ofMessages(newOwner(), [messageId], BOUND)).size).toBe(0);
  });

  test("are the newest of several messages, as many as fit into the bytes", async () => {
    const owner = newOwner();
    const big = (grey: number) => pictureAt(pngUrl(2, 2, { grey, padding: 1_000 }));
    const older = await begin({ ...owner, pictures: [big(1)] });
    const newer = await begin({ ...owner, pictures: [big(2), linkedPicture()] });
    const found = await pictures.ofMessages(owner, [older.messageId, newer.messageId], 1_500);
    expect([...found.keys()]).toEqual([newer.messageId]);
  });

  test("stand as a mark where the window shows a message's words", async () => {
    const owner = newOwner();
    const sessionId = uuidv7();
    const first = await complete({ ...owner, sessionId, message: "look", pictures: [samplePicture()] });
    await complete({ ...owner, sessionId, message: "look", pictures: [samplePicture(), linkedPicture()] });
    await complete({ ...owner, sessionId, message: "look" });
    const request = { ...first, exceptMessageId: uuidv7(), atLeast: 6, maxTokens: 1_000, useSummary: true };
    const { messages } = await makeWindowStore(database).load(request);
    const asked = messages.filter(({ role }) => role === "user");
    expect(asked.map(({ content }) => content)).toEqual([1, 2, 0].map(wordsOf));
    expect((await messagesOf(first)).filter(({ role }) => role === "user").map(({ content }) => content)).toEqual(["look", "look", "look"]);
  });

  test("are not stored for a turn that does not begin", async () => {
    const owner = newOwner();
    const { sessionId } = await begin({ ...owner });
    expect(
      await turns.begin({ ...owner, sessionId, turnId: uuidv7(), leaseMs: 1_000, message: "", pictures: [samplePicture()], tokenCount: 1 }),
    ).toBeNull();
    expect(await kept(owner.userId)).toBe(0);
  });

  describe("go", () => {
    test("with the last message that shows them, and not before", async () => {
      const owner = newOwner();
      const [one, other] = [
        await complete({ ...owner, pictures: [samplePicture()] }),
        await complete({ ...owner, pictures: [samplePicture()] }),
      ];
      await erases.episode(owner, one.messageId);
      expect(await kept(owner.userId)).toBe(1);
      expect((await pictures.ofMessages(owner, [other.messageId], BOUND)).size).toBe(1);
      await erases.conversation(other);
      expect(await kept(owner.userId)).toBe(0);
    });

    test("with their user", async () => {
      const owner = newOwner();
      await complete({ ...owner, pictures: [samplePicture(1), samplePicture(2)] });
      await erases.user(owner);
      expect(await kept(owner.userId)).toBe(0);
    });

    test("with a turn that is taken back", async () => {
      const owner = newOwner();
      const held = await begin({ ...owner, pictures: [samplePicture()] });
      await turns.takeBack(held);
      expect(await kept(owner.userId)).toBe(0);
    });

    test("neither too early nor too late when messages with the same picture come and go side by side", async () => {
      const owner = newOwner();
      const show = () => begin({ ...owner, pictures: [samplePicture()] });
      for (let round = 0; round < 5; round++) {
        const held = await Promise.all(Array.from({ length: 4 }, show));
        const [, more] = await Promise.all([Promise.all(held.map((turn) => turns.takeBack(turn))), Promise.all([show(), show()])]);
        expect(
          (
            await pictures.ofMessages(
              owner,
              more.map(({ messageId }) => messageId),
              BOUND,
            )
          ).size,
        ).toBe(2);
        for (const turn of more) await turns.takeBack(turn);
        expect(await kept(owner.userId)).toBe(0);
      }
    });
  });
});
