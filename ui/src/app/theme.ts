// The theme choice: system, light or dark. /theme.js applies a stored one before the first paint.
import { useSyncExternalStore } from "react";

export type Theme = "system" | "light" | "dark";
const KEY = "partita.theme";
const listeners = new Set<() => void>();

function read(): Theme {
  const stored = localStorage.getItem(KEY);
  return stored === "light" || stored === "dark" ? stored : "system";
}

export function setTheme(theme: Theme): void {
  if (theme === "system") {
    localStorage.removeItem(KEY);
    delete document.documentElement.dataset.theme;
  } else {
    localStorage.setItem(KEY, theme);
    document.documentElement.dataset.theme = theme;
  }
  for (const listener of listeners) listener();
}

export function useTheme(): Theme {
  return useSyncExternalStore((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  }, read);
}

/** Changes whenever the effective colours do; canvases redraw on it. */
export function useColourScheme(): string {
  const theme = useTheme();
  const dark = useSyncExternalStore(
    (listener) => {
      const media = window.matchMedia("(prefers-color-scheme: dark)");
      media.addEventListener("change", listener);
      return () => media.removeEventListener("change", listener);
    },
    () => window.matchMedia("(prefers-color-scheme: dark)").matches,
  );
  return theme === "system" ? (dark ? "dark" : "light") : theme;
}
