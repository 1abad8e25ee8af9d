import { API, over, part, query, section, user } from "./addresses.ts";
import { call, send } from "./client.ts";
import type * as Api from "./types.ts";

const named = (kind: "agents" | "skills" | "mcp-servers", name: string): string => `${API}/${kind}/${part(name)}`;
/** `isTry`: the service checks it and does not keep it. */
const put = <Answer>(address: string, body: object, isTry: boolean) =>
  call<Answer>(address + query({ dry_run: isTry ? "true" : null }), { method: "PUT", body });
export const putAgent = (name: string, body: Api.AgentBody, isTry = false) => put<Api.PutAgent>(named("agents", name), body, isTry);
export const removeAgent = (name: string) => call<Api.DeletedAgent>(named("agents", name), { method: "DELETE" });
export const listAgentVersions = (name: string) => call<Api.AgentVersions>(`${named("agents", name)}/versions`);
export const readAgentStats = (name: string) => call<Api.AgentStats>(`${named("agents", name)}/stats`);
export const listSkills = () => call<Api.SkillList>(`${API}/skills`);
export const readSkill = (name: string) => call<Api.Skill>(named("skills", name));
export const putSkill = (name: string, body: Api.SkillBody, isTry = false) => put<Api.Skill>(named("skills", name), body, isTry);
export const removeSkill = (name: string) => call<Api.DeletedSkill>(named("skills", name), { method: "DELETE" });
export const listServers = () => call<Api.McpServerList>(`${API}/mcp-servers`);
export const putServer = (name: string, body: Api.McpServerBody, isTry = false) =>
  put<Api.ListedMcpServer>(named("mcp-servers", name), body, isTry);
export const removeServer = (name: string) => call<Api.DeletedMcpServer>(named("mcp-servers", name), { method: "DELETE" });
export const listBranches = (conversationId: string) => call<Api.BranchList>(`${API}/conversations/${conversationId}/branches`);
export const eraseBranch = (conversationId: string, branchId: string, withChildren: boolean) =>
  call<Api.EraseAnswer>(`${API}/conversations/${conversationId}/branches/${branchId}${query({ children: String(withChildren) })}`, {
    method: "DELETE",
  });
const snapshots = (conversationId: string): string => `${API}/conversations/${conversationId}/snapshots`;
export const listSnapshots = (conversationId: string) => call<Api.SnapshotList>(snapshots(conversationId));
export const addSnapshot = (conversationId: string, label: string) =>
  call<Api.Snapshot>(snapshots(conversationId), { method: "POST", body: { label } });
export const removeSnapshot = (conversationId: string, snapshotId: string) =>
  call<Api.DeletedSnapshot>(`${snapshots(conversationId)}/${snapshotId}`, { method: "DELETE" });
export const restoreSnapshot = (conversationId: string, snapshotId: string) =>
  call<Api.BranchList>(`${snapshots(conversationId)}/${snapshotId}/restore`, { method: "POST" });
export const readSummary = (conversationId: string, version: number) =>
  call<Api.SummaryAnswer>(`${API}/conversations/${conversationId}/summary${query({ version })}`);
export const listJobs = (conversationId: string) => call<Api.ConversationJobs>(`${API}/conversations/${conversationId}/jobs`);
export const retryJobs = (which: { kind?: string; conversation_id?: string }) =>
  call<Api.RetriedJobs>(`${API}/jobs/retry`, { method: "POST", body: which });
export const importMessages = (body: object, signal: AbortSignal) =>
  send(`${API}/conversations/import`, { method: "POST", body, signal, headers: { accept: "text/event-stream" } });

export const listSections = (userId: string) => call<Api.CoreMemory>(`${user(userId)}/core-memory`);
export const putSection = (userId: string, name: string, content: string, version: number) =>
  call<{ version: number }>(section(userId, name), { method: "PUT", body: { content }, headers: over(version) });
export const removeSection = (userId: string, name: string, version: number) =>
  call<{ version: number }>(section(userId, name), { method: "DELETE", headers: over(version) });
export const listVersions = (userId: string, name: string, after: string | null) =>
  call<Api.SectionHistory>(`${section(userId, name)}/history${query({ limit: 20, after })}`);
export const revertSection = (userId: string, name: string, toVersion: number, version: number) =>
  call<{ version: number }>(`${section(userId, name)}/revert`, { method: "POST", body: { version: toVersion }, headers: over(version) });
export const listOperations = (userId: string, { after, trigger }: { after?: string | null; trigger?: string }) =>
  call<Api.OperationList>(`${user(userId)}/memory-operations${query({ limit: 30, after, trigger_message_id: trigger })}`);
export const searchEpisodes = (userId: string, text: string) =>
  call<Api.EpisodeList>(`${user(userId)}/episodes${query({ query: text, limit: 20 })}`);
export const forgetEpisode = (userId: string, episodeId: string) =>
  call<Api.EraseAnswer>(`${user(userId)}/episodes/${episodeId}`, { method: "DELETE" });
export const exportUser = (userId: string) => send(`${user(userId)}/export`);
export const eraseUser = (userId: string) => call<Api.EraseAnswer>(user(userId), { method: "DELETE" });

export const listPermissions = (userId: string, after: string | null) =>
  call<Api.Permissions>(`${user(userId)}/permissions${query({ limit: 50, after })}`);
export const revokePermission = (userId: string, permissionId: string) =>
  call<Api.RevokedPermission>(`${user(userId)}/permissions/${permissionId}`, { method: "DELETE" });

const base = (prefix: string): string => `${API}/knowledge/${part(prefix)}`;
export const putKnowledge = (prefix: string, body: Api.KnowledgeBody) => call<Api.KnowledgeBase>(base(prefix), { method: "PUT", body });
export const listDocuments = (prefix: string, after: string | null) =>
  call<Api.DocumentList>(`${base(prefix)}/documents${query({ limit: 50, after })}`);
export const addFile = (prefix: string, file: File, type: string) =>
  call<Api.Document>(`${base(prefix)}/documents${query({ title: file.name })}`, {
    method: "POST",
    body: file,
    headers: { "content-type": type },
  });
export const listPassages = (prefix: string, documentId: string, after: string | null) =>
  call<Api.PassageList>(`${base(prefix)}/documents/${documentId}/passages${query({ limit: 20, after })}`);
export const removeDocument = (prefix: string, documentId: string) =>
  call<Api.DeletedDocuments>(`${base(prefix)}/documents/${documentId}`, { method: "DELETE" });
export const readDocumentAgain = (prefix: string, documentId: string) =>
  call<Api.Document>(`${base(prefix)}/documents/${documentId}/read`, { method: "POST" });
export const findPassages = (prefix: string, text: string) => call<Api.FoundPassages>(`${base(prefix)}/passages${query({ query: text })}`);
export const readJobs = () => call<Api.JobsAnswer>(`${API}/jobs`);
export const listUsage = (by: "day" | "model" | "user") => call<Api.UsageList>(`${API}/usage${query({ by, limit: 60 })}`);
export const listSettings = () => call<Api.SettingList>(`${API}/settings`);
export const listLimits = (userId: string) => call<Api.LimitList>(`${API}/limits${query({ user_id: userId })}`);
