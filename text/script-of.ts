/** In which a learned embedder finds texts of a question's own script nearer. */
export type Script = "han" | "other";

const HAN = /\p{Script=Han}/u;

/** The script of a short text. */
export function scriptOf(text: string): Script {
  return HAN.test(text) ? "han" : "other";
}
