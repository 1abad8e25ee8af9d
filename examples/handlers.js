// @ts-check
// Handlers for knowledge bases, by kb_prefix: `KB_HANDLERS=./examples/handlers.js npm start`, or `makeKnowledgeHandlers` in a program.

/**
 * "How much are 12 boxes of M4 screws?": the rows of the price list that fit, and how many of the best one are asked for.
 *
 * @type {import("conversation-graph").KnowledgeHandler}
 */
async function unitPrices({ state, tools, stream }) {
  const passages = await tools.findPassages(state.message, 3);
  const rows = passages.flatMap((passage) =>
    [...passage.text.matchAll(/article: (.+)\nunit: (.+)\nprice in euros: ([\d.]+)/g)].map(([, article = "", unit = "", price = ""]) => {
      return { article, unit, price: Number(price), passage };
    }),
  );
  const asked = state.message.toLowerCase();
  const fits = rows.find(({ article }) =>
    article
      .toLowerCase()
      .split(" ")
      .every((word) => asked.includes(word)),
  );
  const quantity = Number(/\b(\d+) (?:box|bag|pack|piece)/.exec(asked)?.[1]);
  if (!fits || !quantity) throw new Error("no article or no quantity"); // the general generator answers then
  stream(`${quantity} × ${fits.unit} of ${fits.article} at ${fits.price.toFixed(2)} euros `);
  stream(`is ${(quantity * fits.price).toFixed(2)} euros [1].`);
  return { passages: [fits.passage] };
}

export default { prices: unitPrices };
