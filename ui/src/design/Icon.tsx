// Our own line icons on a 16 grid, drawn with currentColor. Decorative: the control that holds one carries the name.
const PATHS = {
  home: "M2.5 7.2 8 2.8l5.5 4.4v6H9.8V9.4H6.2v3.8H2.5z",
  assets: "M2.5 3.5h11M2.5 8h11M2.5 12.5h11",
  graph:
    "M4.5 4.2h2.2c2 0 1.8 7.6 4 7.6h.8M4.5 4.2a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0Zm10 0a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0Zm0 7.6a1.5 1.5 0 1 1-3 0 1.5 1.5 0 0 1 3 0ZM4.5 4.2h7",
  runs: "M4.5 3v10l8-5z",
  backfills: "M2.5 4h6v2.5h-6zM5 8h5.5v2.5H5zM8.5 12H14M11 6h2.5",
  queue: "M2.5 3.5h11v2.5h-11zM4 8.3h8M5.5 10.9h5M7 13.4h2",
  automation: "M8.8 1.8 3.5 9h4l-.6 5.2L12.5 7h-4z",
  locations: "M2.5 3h11v4h-11zM2.5 9h11v4h-11zM5 5h.1M5 11h.1",
  system:
    "M8 5.6a2.4 2.4 0 1 1 0 4.8 2.4 2.4 0 0 1 0-4.8ZM8 1.8v2M8 12.2v2M1.8 8h2M12.2 8h2M3.6 3.6l1.4 1.4M11 11l1.4 1.4M12.4 3.6 11 5M5 11l-1.4 1.4",
  search: "M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9ZM10.3 10.3l3.2 3.2",
  copy: "M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3",
  check: "m3 8.5 3.2 3L13 4.5",
  close: "m4 4 8 8M12 4l-8 8",
  sun: "M8 5.2a2.8 2.8 0 1 1 0 5.6 2.8 2.8 0 0 1 0-5.6ZM8 1.6v1.2M8 13.2v1.2M1.6 8h1.2M13.2 8h1.2M3.5 3.5l.8.8M11.7 11.7l.8.8M12.5 3.5l-.8.8M4.3 11.7l-.8.8",
  moon: "M13.2 9.6A5.6 5.6 0 0 1 6.4 2.8a5.6 5.6 0 1 0 6.8 6.8Z",
  auto: "M8 2.2a5.8 5.8 0 1 1 0 11.6A5.8 5.8 0 0 1 8 2.2ZM8 2.2v11.6",
  right: "m6 3.5 4.5 4.5L6 12.5",
  left: "M10 3.5 5.5 8l4.5 4.5",
  down: "m3.5 6 4.5 4.5L12.5 6",
  external: "M6.5 3.5h-3v9h9v-3M9 3h4v4M13 3 7.5 8.5",
  plus: "M8 3v10M3 8h10",
  minus: "M3 8h10",
  fit: "M2.5 6v-3.5H6M10 2.5h3.5V6M13.5 10v3.5H10M6 13.5H2.5V10",
  reload: "M13 5.5A5.4 5.4 0 1 0 13.4 9M13.3 2.5v3.2h-3.2",
  stop: "M4 4h8v8H4z",
  pause: "M5.5 3.5v9M10.5 3.5v9",
  link: "M6.8 9.2a2.4 2.4 0 0 0 3.4 0l2.4-2.4a2.4 2.4 0 0 0-3.4-3.4l-.9.9M9.2 6.8a2.4 2.4 0 0 0-3.4 0L3.4 9.2a2.4 2.4 0 0 0 3.4 3.4l.9-.9",
  table: "M2.5 3h11v10h-11zM2.5 6.3h11M6.2 6.3V13",
  database:
    "M3 4.2c0-1 2.2-1.7 5-1.7s5 .7 5 1.7-2.2 1.7-5 1.7-5-.7-5-1.7ZM3 4.2v7.6c0 1 2.2 1.7 5 1.7s5-.7 5-1.7V4.2M3 8c0 1 2.2 1.7 5 1.7S13 9 13 8",
} as const;

export type IconName = keyof typeof PATHS;

export function Icon({ name, size = 16 }: { name: IconName; size?: number }) {
  return (
    <svg width={size} height={size} viewBox="0 0 16 16" aria-hidden="true" style={{ flex: "none" }}>
      <path
        d={PATHS[name]}
        fill="none"
        stroke="currentColor"
        strokeWidth="1.35"
        strokeLinecap="round"
        strokeLinejoin="round"
      />
    </svg>
  );
}
