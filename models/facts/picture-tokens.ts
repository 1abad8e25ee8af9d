import type { Picture } from "../../turn/picture.ts";
import { canonicalModelName } from "./find-known-model.ts";

interface Size {
  width: number;
  height: number;
}
type Looked = Size & { detail: Picture["detail"] };
type Count = (picture: Looked) => number;

const ASSUMED: Size = { width: 1_536, height: 1_536 };

const shrink = ({ width, height }: Size, factor: number): Size =>
  factor >= 1 ? { width, height } : { width: Math.max(1, width * factor), height: Math.max(1, height * factor) };
const longestSide = (size: Size, most: number): Size => shrink(size, most / Math.max(size.width, size.height));
const shortestSide = (size: Size, most: number): Size => shrink(size, most / Math.min(size.width, size.height));
const squares = ({ width, height }: Size, side: number): number => Math.ceil(width / side) * Math.ceil(height / side);

/** OpenAI's rule: https://platform.openai.com/docs/guides/images-vision#calculating-costs */
const tiled =
  (base: number, ofTile: number): Count =>
  ({ detail, ...size }) =>
    detail === "low" ? base : base + ofTile * squares(shortestSide(longestSide(size, 2_048), 768), 512);

/** The rule of OpenAI's smaller models: squares of 32 pixels, `most` at once. */
const patched =
  (factor: number, most = 1_536): Count =>
  (size) =>
    Math.ceil(factor * Math.min(most, squares(size, 32)));

/** Anthropic's and Qwen's rule: squares of a side, on a picture shrunk to a limit of them. */
const squared =
  (side: number, most: number, { longest = Infinity, around = 0 } = {}): Count =>
  (size) =>
    Math.min(most, squares(longestSide(size, longest), side)) + around;

/** https://ai.google.dev/gemini-api/docs/tokens: one tile, or tiles with one and a half on the shorter side. */
const GEMINI_TILE = 258;
const ofGemini: Count = ({ width, height }) => {
  if (width <= 384 && height <= 384) return GEMINI_TILE;
  const side = Math.min(768, Math.max(256, Math.floor(Math.min(width, height) / 1.5)));
  return GEMINI_TILE * Math.min(16, squares({ width, height }, side));
};

/** By the canonical name; the first that fits. */
const FAMILIES: readonly (readonly [name: RegExp, count: Count])[] = [
  [/^gpt-4o-mini/, tiled(2_833, 5_667)],
  [/^gpt-4-1-mini|^gpt-5(?:-\d+)?(?:-codex)?-mini/, patched(1.62)],
  [/^gpt-4-1-nano|^gpt-5(?:-\d+)?-nano/, patched(2.46)],
  [/^o4-mini/, patched(1.72)],
  [/^o[13](?:-|$)/, tiled(75, 150)],
  [/^computer-use/, tiled(65, 129)],
  [/^gpt-5(?:-chat|-codex|-pro|$)/, tiled(70, 140)],
  [/^(?:chatgpt-)?gpt-4/, tiled(85, 170)],
  // https://platform.claude.com/docs/en/build-with-claude/vision: squares of 28 pixels, since Opus 4.7 of larger pictures.
  [/^claude-(?:3|haiku|(?:opus|sonnet)-4(?:-[0-6])?$)/, squared(28, 1_568, { longest: 1_568 })],
  [/^claude/, squared(28, 4_784, { longest: 2_576 })],
  // Since Gemini 3 the resolution setting decides; this is its default.
  [/^gemini-3/, () => 1_120],
  [/^gemini|^gemma/, ofGemini],
  // Qwen's smart_resize: https://github.com/QwenLM/Qwen3-VL
  [/^qwen-?2|^qvq/, squared(28, 16_384, { around: 2 })],
  [/^qwen/, squared(32, 16_384, { around: 2 })],
];

/** For an unknown model: rather too many than too few. */
const SAFE = squared(28, 4_096);

/** A picture's tokens for a model, by its maker's published rules. Width and height count as stored. */
export function pictureTokens(model: string, { file, detail }: Pick<Picture, "file" | "detail">): number {
  const name = canonicalModelName(model);
  const count = FAMILIES.find(([family]) => family.test(name))?.[1] ?? SAFE;
  const { width, height } = file ?? ASSUMED;
  return count({ width, height, detail });
}
