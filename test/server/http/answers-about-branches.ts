import type { DescribedRequest } from "../../support/clients/described-call.ts";

type Ask = <Value>(id: string, request?: DescribedRequest, status?: number) => Promise<Value>;

/** Calls every operation on branches, forks and snapshots of a conversation, which is as before at the end. */
export async function askAboutBranches(ask: Ask, conversation: { id: string }, answerId: string): Promise<void> {
  const { id: snapshot } = await ask<{ id: string }>("addSnapshot", { params: conversation, body: { label: "before" } }, 201);
  await ask("listSnapshots", { params: conversation });
  await ask("restoreSnapshot", { params: { ...conversation, snapshot } });
  await ask("deleteSnapshot", { params: { ...conversation, snapshot } });
  const forked = await ask<{ conversation_id: string }>("forkConversation", { params: conversation, body: { session_id: "forked" } }, 201);
  await ask("eraseConversation", { params: { id: forked.conversation_id } });
  await ask("runTurn", { body: { user_id: "ada", session_id: "s", regenerate: answerId } });
  const { branches } = await ask<{ branches: { id: string }[] }>("listBranches", { params: conversation });
  await ask("activateBranch", { params: conversation, body: { branch_id: conversation.id } });
  for (const { id } of branches.slice(1).toReversed()) await ask("deleteBranch", { params: { ...conversation, branch: id } });
  await ask("settleConversation", { params: conversation }); // the memory agent reads again what has come back
}
