import { keyOf } from "./key-of.ts";

const list = (words: string): string[] => words.split(/, ?|、/).map(keyOf);

const MEAT = list(
  "meat, red meat, steak, steaks, beef, pork, chicken, lamb, bacon, ham, sausages, burgers, hamburgers, ribs, barbecue, bbq, duck, turkey, veal, fried chicken, salami, 肉、牛排、牛肉、猪肉、鸡肉、羊肉、烤肉、红烧肉、羊肉串、烤鸭、炸鸡、培根、火腿、香肠、汉堡、排骨",
);
const FISH = list(
  "fish, sushi, salmon, tuna, seafood, shrimp, prawns, oysters, crab, lobster, sashimi, 鱼、寿司、三文鱼、海鲜、虾、螃蟹、生鱼片、龙虾",
);
const DAIRY = list("dairy, milk, cheese, butter, yoghurt, yogurt, cream, ice cream, 奶制品、牛奶、奶酪、芝士、酸奶、黄油、冰淇淋、奶油");
const EGGS = list("eggs, omelettes, 鸡蛋、蛋");
const ALCOHOL = list(
  "alcohol, beer, wine, red wine, white wine, whisky, whiskey, gin, vodka, rum, cocktails, 酒、啤酒、红酒、白酒、葡萄酒、威士忌",
);
const CAFFEINE = list("caffeine, coffee, espresso, tea, latte, cappuccino, 咖啡因、咖啡、茶、拿铁");
const GLUTEN = list("gluten, bread, pasta, pizza, 麸质、面包、面条");
const NUTS = list("nuts, peanuts, walnuts, almonds, cashews, hazelnuts, peanut butter, 坚果、花生、核桃、杏仁、腰果");

/** What else somebody gives up with a kind of food or on a diet: liking steak does not go with eating no meat. */
const KINDS = new Map<string, string[]>([
  ...["meat", "肉"].map((kind): [string, string[]] => [keyOf(kind), MEAT]),
  ...["vegetarian", "吃素", "素食"].map((kind): [string, string[]] => [keyOf(kind), [...MEAT, ...FISH]]),
  ...["vegan", "纯素"].map((kind): [string, string[]] => [keyOf(kind), [...MEAT, ...FISH, ...DAIRY, ...EGGS]]),
  [keyOf("pescatarian"), MEAT],
  ...["fish", "seafood", "海鲜", "鱼"].map((kind): [string, string[]] => [keyOf(kind), FISH]),
  ...["dairy", "lactose", "奶制品"].map((kind): [string, string[]] => [keyOf(kind), DAIRY]),
  ...["alcohol", "酒"].map((kind): [string, string[]] => [keyOf(kind), ALCOHOL]),
  ...["caffeine", "咖啡因"].map((kind): [string, string[]] => [keyOf(kind), CAFFEINE]),
  ...["gluten", "gluten-free", "麸质"].map((kind): [string, string[]] => [keyOf(kind), GLUTEN]),
  ...["nuts", "坚果"].map((kind): [string, string[]] => [keyOf(kind), NUTS]),
]);

/** True when a food is given up by whoever gives up `kind`; both are keys. */
export function isKindOf(food: string, kind: string): boolean {
  return food === kind || (KINDS.get(kind)?.includes(food) ?? false);
}

/** True for what can be given up in so many words ("I gave up sugar"), unlike hope. */
export function isFoodKind(key: string): boolean {
  return KINDS.has(key) || /^(?:sugar|sweet|糖|甜食)$/u.test(key) || [...KINDS.values()].some((foods) => foods.includes(key));
}
