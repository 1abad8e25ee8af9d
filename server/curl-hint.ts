/** A line to paste into a shell: one streamed turn. */
export function curlHint(url: string, needsKey: boolean): string {
  const reachable = url.replace("//0.0.0.0", "//127.0.0.1").replace("//[::]", "//[::1]");
  const key = needsKey ? " -H 'authorization: Bearer YOUR_KEY'" : "";
  return `curl -N ${reachable}/api/v1/chat/stream -H 'content-type: application/json'${key} -d '{"user_id":"ada","session_id":"first","message":"Hello!"}'`;
}
