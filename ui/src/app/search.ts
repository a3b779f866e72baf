// Search params as plain strings: ?key=raw/flights stays readable, and a partition "2013" is never turned into a number.
export type Params = Record<string, string | undefined>;

export function parseSearch(text: string): Params {
  return Object.fromEntries(new URLSearchParams(text));
}

export function stringifySearch(search: Record<string, unknown>): string {
  const params = new URLSearchParams();
  for (const [name, value] of Object.entries(search)) {
    if (value !== undefined && value !== null && value !== "") params.set(name, String(value));
  }
  const text = params.toString();
  // Slashes, commas and colons are legal in a query and make keys readable in the address bar.
  return text ? `?${text.replaceAll("%2F", "/").replaceAll("%2C", ",").replaceAll("%3A", ":")}` : "";
}

type Pick<Names extends string> = { [name in Names]?: string };

/** The params a route knows; anything else in the URL is dropped instead of carried around. */
export function only<const Names extends string>(...names: Names[]) {
  return (search: Record<string, unknown>): Pick<Names> => {
    const picked: Pick<Names> = {};
    for (const name of names) {
      const value = search[name];
      if (value !== undefined && value !== null && value !== "") picked[name] = String(value);
    }
    return picked;
  };
}
