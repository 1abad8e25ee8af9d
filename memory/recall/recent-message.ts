export interface RecentMessage {
  role: "user" | "assistant";
  content: string;
}
