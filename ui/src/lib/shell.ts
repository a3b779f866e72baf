// Texts as a shell reads them, for commands that people copy.

export function shellQuoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** ` --reason '…'`, or nothing where no reason is given. */
export function reasonOption(reason: string): string {
  return reason.trim() ? ` --reason ${shellQuoted(reason.trim())}` : "";
}
