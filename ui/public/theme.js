// Runs before the first paint, so that a stored theme never flashes; a file, not inline, so that a strict CSP holds.
(() => {
  const stored = localStorage.getItem("partita.theme");
  if (stored === "light" || stored === "dark") document.documentElement.dataset.theme = stored;
})();
