/** A message of the talk before a question. */
export interface RecentMessage {
  role: "user" | "assistant";
  content: string;
}
