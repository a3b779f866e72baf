// How well a text answers what somebody typed. Zero is no match; words may come in any order; letters may skip.
export function matchScore(text: string, typed: string): number {
  const words = typed.toLowerCase().split(/\s+/).filter(Boolean);
  const subject = text.toLowerCase();
  let score = 1;
  for (const word of words) {
    const found = wordScore(subject, word);
    if (found === 0) return 0;
    score += found;
  }
  return score;
}

function wordScore(subject: string, word: string): number {
  const at = subject.indexOf(word);
  if (at >= 0) {
    const boundary = at === 0 || /[^a-z0-9]/.test(subject[at - 1]);
    return (boundary ? 100 : 60) + (20 * word.length) / subject.length - at / 100;
  }
  let from = 0;
  let gaps = 0;
  for (const letter of word) {
    const next = subject.indexOf(letter, from);
    if (next < 0) return 0;
    gaps += next - from;
    from = next + 1;
  }
  return Math.max(1, 20 - gaps);
}
