// One tooltip for the page: anything with data-tip explains itself on hover and on keyboard focus.
import { useEffect, useLayoutEffect, useRef, useState } from "react";

type Shown = { text: string; box: DOMRect; target: HTMLElement };

export function TipLayer() {
  const [shown, setShown] = useState<Shown | null>(null);
  const ref = useRef<HTMLDivElement>(null);

  useEffect(() => {
    let timer: number | undefined;
    const show = (event: Event) => {
      const target = event.target instanceof Element ? event.target.closest<HTMLElement>("[data-tip]") : null;
      window.clearTimeout(timer);
      if (!target?.dataset.tip || (event.type === "focusin" && !target.matches(":focus-visible"))) {
        setShown(null);
        return;
      }
      const text = target.dataset.tip;
      timer = window.setTimeout(() => setShown({ text, box: target.getBoundingClientRect(), target }), 250);
    };
    const hide = () => {
      window.clearTimeout(timer);
      setShown(null);
    };
    document.addEventListener("pointerover", show);
    document.addEventListener("focusin", show);
    document.addEventListener("pointerdown", hide);
    document.addEventListener("keydown", hide);
    document.addEventListener("scroll", hide, true);
    return () => {
      hide();
      document.removeEventListener("pointerover", show);
      document.removeEventListener("focusin", show);
      document.removeEventListener("pointerdown", hide);
      document.removeEventListener("keydown", hide);
      document.removeEventListener("scroll", hide, true);
    };
  }, []);

  const target = shown?.target;
  useEffect(() => {
    if (!target) return;
    // What it explains may change or go away while the pointer rests: the tip never tells yesterday's counts.
    const observer = new MutationObserver(() => {
      const text = target.isConnected ? target.dataset.tip : undefined;
      setShown((before) => (before && text ? { ...before, text } : null));
    });
    observer.observe(target, { attributes: true, attributeFilter: ["data-tip"] });
    observer.observe(document.getElementById("main") ?? document.body, { childList: true });
    return () => observer.disconnect();
  }, [target]);

  useLayoutEffect(() => {
    const tip = ref.current;
    if (!tip || !shown) return;
    place(tip, shown.box);
  }, [shown]);

  if (!shown) return null;
  return (
    <div ref={ref} className="tip" role="tooltip">
      {shown.text}
    </div>
  );
}

/** Under the anchor, over it when there is no room below, always inside the window. */
export function place(tip: HTMLElement, box: { left: number; top: number; bottom: number; width: number }): void {
  const { width, height } = tip.getBoundingClientRect();
  const left = Math.min(Math.max(8, box.left + box.width / 2 - width / 2), window.innerWidth - width - 8);
  const below = box.bottom + 6;
  const top = below + height > window.innerHeight - 8 ? box.top - height - 6 : below;
  tip.style.left = `${left}px`;
  tip.style.top = `${Math.max(8, top)}px`;
}
