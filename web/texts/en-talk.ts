export const enBranches = {
  title: "Branches",
  explain: "An edited question or another answer begins a branch. What is shown here is what memory knows of this conversation.",
  edit: "Edit",
  editExplain: "Enter sends, Escape leaves. What follows stays on its own branch.",
  regenerate: "Answer again",
  fork: "Continue in another conversation",
  versions: "Versions",
  version: (number: number, count: number) => `Version ${number} of ${count}`,
  earlierAnswer: "Show the earlier answer",
  first: "First version",
  origins: { edit: "Edited question", regenerate: "Another answer", restore: "Restored" },
  shown: "shown",
  switch: "Switch to it",
  erase: "Delete",
  eraseTitle: (name: string) => `Delete branch ${name}?`,
  eraseExplain: (others: number) =>
    others === 0
      ? "Its own messages and everything learned from them are permanently deleted. What it shares with other branches stays."
      : `Its own messages, the ${others === 1 ? "branch that leaves" : `${others} branches that leave`} it, and everything learned from them are permanently deleted.`,
  snapshots: "Snapshots",
  snapshotsExplain: "A snapshot names where the conversation stands. Restoring one goes on from there.",
  label: "Snapshot name",
  keep: "Keep",
  restore: "Restore",
  forget: "Remove",
};

interface PictureLimit {
  count: string;
  each: string;
  together: string;
}

export const enPictures = {
  add: "Add pictures",
  limits: ({ count, each, together }: PictureLimit) => `PNG, JPEG, WebP or GIF; at most ${count}, ${each} each, ${together} together`,
  chosen: "Pictures to send",
  remove: (name: string) => `Remove ${name}`,
  picture: (number: number) => `Picture ${number}`,
  open: (label: string) => `Open ${label}`,
  gone: "The picture cannot be shown.",
  refused: {
    type: (name: string) => `${name} cannot be sent: only PNG, JPEG, WebP and GIF pictures can.`,
    none: (name: string) => `${name} cannot be sent: this service takes no pictures.`,
    count: (name: string, { count }: PictureLimit) => `${name} is one too many: a message may show ${count}.`,
    size: (name: string, { each }: PictureLimit) => `${name} is larger than ${each}.`,
    together: (name: string, { together }: PictureLimit) => `With ${name} the pictures would be larger than ${together} together.`,
    unreadable: (name: string) => `${name} cannot be read.`,
  },
};

export const enRating = {
  good: "Good answer",
  bad: "Bad answer",
  why: "What was wrong? (optional)",
  send: "Send",
};

export const enWelcome = {
  talk: "Talk",
  talkExplain: "What you say is remembered: facts about you, and what was talked about.",
  examples: ["My name is Ada, and I live in Lisbon.", "What do you know about me?"],
  documents: "Add a document",
  documentsExplain: "Answers then quote it, and each citation opens its passage.",
  documentsThere: (count: number) => (count === 1 ? "1 knowledge base is there." : `${count} knowledge bases are there.`),
  documentsGo: "Open documents",
  connect: "Connect a model",
  connectExplain: "The built-in model only quotes. Start the service with one of these:",
  orLocal: "or a server of your own:",
  model: "Model",
  modelIs: (name: string) => `${name} answers.`,
  state: "Service status",
};
