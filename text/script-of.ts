/** Learned embedders find texts of a question's own script nearer. */
export type Script = "han" | "other";

const HAN = /\p{Script=Han}/u;

export function scriptOf(text: string): Script {
  return HAN.test(text) ? "han" : "other";
}
