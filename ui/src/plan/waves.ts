// Waves in words. The plan tells waves that are alike and follow each other as one entry.
import type { Plan } from "../api/types";

type Wave = Pick<Plan["waves"][number], "index" | "count">;

export function waveCount(waves: Wave[]): number {
  return waves.reduce((sum, wave) => sum + wave.count, 0);
}

export function waveName({ index, count }: Wave): string {
  return count === 1 ? `Wave ${index + 1}` : `Waves ${index + 1}–${index + count}`;
}
