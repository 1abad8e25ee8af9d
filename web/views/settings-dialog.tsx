import { apiKey, forgetKey } from "../api/api-key.ts";
import { chooseTheme, theme, THEMES, userId, type Theme } from "../state/page/settings.ts";
import { switchUser } from "../state/thread/user.ts";
import { chooseLanguage, language, LANGUAGES, texts, type Language } from "../texts/texts.ts";
import { Button } from "./button.tsx";
import { Modal } from "./modal.tsx";

function ShortcutList() {
  return (
    <dl class="shortcuts">
      {texts.value.shortcuts.list.map(([keys, what]) => (
        <div key={keys}>
          <dt>
            <kbd>{keys}</kbd>
          </dt>
          <dd>{what}</dd>
        </div>
      ))}
    </dl>
  );
}

export function SettingsDialog({ onClose }: { onClose: () => void }) {
  const t = texts.value.settings;
  return (
    <Modal title={t.open} onClose={onClose}>
      <div class="stack">
        <p class="setting">
          <span>
            {t.user}: <strong dir="auto">{userId.value}</strong>
          </span>
          <Button onClick={() => (onClose(), switchUser(null))}>{t.changeUser}</Button>
        </p>
        <label class="setting">
          <span>{t.language}</span>
          <select value={language} onChange={({ currentTarget }) => chooseLanguage(currentTarget.value as Language)}>
            {Object.entries(LANGUAGES).map(([name, shown]) => (
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
        {apiKey.value !== null && <Button onClick={forgetKey}>{t.forgetKey}</Button>}
        <section class="with-keyboard stack">
          <h3>{t.shortcuts}</h3>
          <ShortcutList />
        </section>
      </div>
    </Modal>
  );
}
