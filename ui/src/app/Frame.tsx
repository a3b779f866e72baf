// What surrounds every view: rail, top bar, the palette, the key sheet, the tooltip layer.
import { Outlet } from "@tanstack/react-router";
import { lazy, Suspense, useState } from "react";
import { TipLayer } from "../design/Tip";
import { PauseBar } from "../views/Pause";
import { useKeys } from "./keys";
import { Rail } from "./Rail";
import { TopBar } from "./TopBar";

const Palette = lazy(() => import("./Palette").then((m) => ({ default: m.Palette })));
const KeySheet = lazy(() => import("./KeySheet").then((m) => ({ default: m.KeySheet })));

export function Frame() {
  const [overlay, setOverlay] = useState<"palette" | "keys" | null>(null);
  useKeys({ openPalette: () => setOverlay("palette"), openKeys: () => setOverlay("keys") });
  const close = () => setOverlay(null);
  return (
    <div className="frame">
      <button type="button" className="skip" onClick={() => document.getElementById("main")?.focus()}>
        Skip to content
      </button>
      <Rail />
      <TopBar onSearch={() => setOverlay("palette")} onKeys={() => setOverlay("keys")} />
      <main id="main" tabIndex={-1}>
        <PauseBar />
        <Suspense fallback={null}>
          <Outlet />
        </Suspense>
      </main>
      <Suspense fallback={null}>
        {overlay === "palette" && <Palette onClose={close} />}
        {overlay === "keys" && <KeySheet onClose={close} />}
      </Suspense>
      <TipLayer />
    </div>
  );
}
