import { apiKey, forgetKey } from "../state/api-key.ts";
import { chooseTheme, theme, THEMES, userId, type Theme } from "../state/settings.ts";
import { switchUser } from "../state/user.ts";
import { chooseLanguage, language, LANGUAGES, texts, type Language } from "../texts/texts.ts";
import { Modal } from "./modal.tsx";
import { ShortcutList } from "./shortcut-list.tsx";

/** Who talks, in which language, how it looks, and which keys do what. */
export function SettingsDialog({ onClose }: { onClose: () => void }) {
  const t = texts.value.settings;
  return (
    <Modal title={t.open} onClose={onClose}>
      <div class="stack">
        <p class="setting">
          <span>
            {t.user}: <strong dir="auto">{userId.value}</strong>
          </span>
          <button type="button" onClick={() => (onClose(), switchUser(null))}>
            {t.changeUser}
          </button>
        </p>
        <label class="setting">
          <span>{t.language}</span>
          <select value={language} onChange={({ currentTarget }) => chooseLanguage(currentTarget.value as Language)}>
            {Object.entries(LANGUAGES).map(([name, { name: shown }]) => (
              <option key={name} value={name}>
                {shown}
              </option>
            ))}
          </select>
        </label>
        <label class="setting">
          <span>{t.theme}</span>
          <select value={theme} onChange={({ currentTarget }) => chooseTheme(currentTarget.value as Theme)}>
            {THEMES.map((name) => (
              <option key={name} value={name}>
                {t[name]}
              </option>
            ))}
          </select>
        </label>
        {apiKey.value !== null && (
          <button type="button" onClick={forgetKey}>
            {t.forgetKey}
          </button>
        )}
        <h3>{t.shortcuts}</h3>
        <ShortcutList />
      </div>
    </Modal>
  );
}
