import type { StoredRows } from "./rows-mentioning.ts";
import type { StreamTimes } from "../read-stream.ts";

/** Whose conversation, and which. */
export interface Thread {
  userId: string;
  sessionId: string;
}

export interface ListedMessage {
  role: string;
  content: string;
}

/** A chat service with memory behind HTTP, or the raw call of the model. */
export interface PeerContender {
  name: string;
  isOurs: boolean;
  turn: (thread: Thread, message: string) => Promise<StreamTimes>;
  /** Waits while the conversation answers, where `turn` is refused. Missing where nothing is refused. */
  turnInLine?: (thread: Thread, message: string) => Promise<StreamTimes>;
  /** CPU of its process in milliseconds so far. */
  cpuMs: () => number;
  /** CPU of the stores outside its process. */
  storesCpuMs: () => number;
  close(): Promise<void>;
  memory?: PeerMemory;
}

/** What a contender keeps: as its own API says, and as its stores have it. */
export interface PeerMemory {
  /** Waits until the work that a turn leaves for later is done. */
  settle(thread: Thread): Promise<void>;
  messages(thread: Thread): Promise<ListedMessage[]>;
  /** Deletes a user with all conversations. */
  forget(userId: string, sessionIds: string[]): Promise<void>;
  /** Rows of all its stores that mention one of the words. */
  rowsMentioning(words: string[]): Promise<StoredRows>;
}
