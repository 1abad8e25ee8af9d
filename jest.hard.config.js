import { HARD_PATHS, settings } from "./jest.config.js";

/** What takes long and finds what nothing else finds: `npm run test:hard`. */
export default { ...settings, testRegex: `${HARD_PATHS}.*\\.test\\.ts$` };
