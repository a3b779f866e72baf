// The keyboard: Ctrl/Cmd-K, ?, / and the two-key jumps (g a, g r, ...). Typing in a field is never taken.
import { useNavigate } from "@tanstack/react-router";
import { useEffect } from "react";

export const JUMPS = {
  h: { to: "/", label: "Home" },
  a: { to: "/assets", label: "Assets" },
  g: { to: "/graph", label: "Graph" },
  r: { to: "/runs", label: "Runs" },
  b: { to: "/backfills", label: "Backfills" },
  q: { to: "/queue", label: "Queue" },
  u: { to: "/automation", label: "Automation" },
  t: { to: "/alerts", label: "Alerts" },
  l: { to: "/locations", label: "Locations" },
  s: { to: "/system", label: "System" },
} as const;

function typing(target: EventTarget | null): boolean {
  return (
    target instanceof HTMLElement && (target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(target.tagName))
  );
}

const CHORD_MS = 900;

export function useKeys({ openPalette, openKeys }: { openPalette: () => void; openKeys: () => void }): void {
  const navigate = useNavigate();
  useEffect(() => {
    let leaderAt = 0;
    const onKey = (event: KeyboardEvent) => {
      if ((event.metaKey || event.ctrlKey) && event.key.toLowerCase() === "k") {
        event.preventDefault();
        openPalette();
        return;
      }
      if (event.metaKey || event.ctrlKey || event.altKey || typing(event.target)) return;
      if (document.querySelector("dialog[open]")) return;
      if (event.key === "?") {
        openKeys();
        return;
      }
      if (event.key === "/") {
        const field = document.querySelector<HTMLInputElement>("main input[type=search]");
        if (field) {
          event.preventDefault();
          field.focus();
          field.select();
        }
        return;
      }
      if (Date.now() - leaderAt < CHORD_MS && event.key in JUMPS) {
        leaderAt = 0;
        void navigate({ to: JUMPS[event.key as keyof typeof JUMPS].to });
        return;
      }
      leaderAt = event.key === "g" ? Date.now() : 0;
    };
    window.addEventListener("keydown", onKey);
    return () => window.removeEventListener("keydown", onKey);
  }, [navigate, openPalette, openKeys]);
}
