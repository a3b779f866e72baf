// Which numbers of slots the panel shows: at most six of those that were simulated, always the first, the last and what is there.
type SlotTime = { slots: number; makespan_s: number };

const ROWS = 6;

export function shownSlots(times: SlotTime[], here: number | undefined): SlotTime[] {
  if (times.length <= ROWS) return times;
  const mine = times.findIndex((one) => one.slots === here);
  const kept = new Set([0, times.length - 1, ...(mine < 0 ? [] : [mine])]);
  const others = times.map((_, i) => i).filter((i) => !kept.has(i));
  const room = ROWS - kept.size;
  for (let i = 0; i < room; i++) kept.add(others[Math.floor(((i + 0.5) * others.length) / room)]);
  return times.filter((_, i) => kept.has(i));
}
