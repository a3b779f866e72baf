import { describe, expect, it } from "vitest";
import { keysOf, metadataOf, secondsOf } from "./text";

describe("what people type about keys", () => {
  it("takes a key a line, as it stands, once", () => {
    expect(keysOf('globex\nacme, inc\r\n\n "q"\nglobex')).toEqual(["globex", "acme, inc", ' "q"']);
    expect(keysOf("\n\n")).toEqual([]);
  });
  it("reads a time to live, or none", () => {
    expect(secondsOf("1.5", "hours")).toBe(5400);
    expect(secondsOf("", "days")).toBeNull();
    expect(secondsOf(".", "days")).toBeNull();
  });
  it("reads metadata, and refuses what has no name", () => {
    expect(metadataOf("from=crm, note=a=b")).toEqual({ from: "crm", note: "a=b" });
    expect(metadataOf(" ")).toEqual({});
    expect(metadataOf("crm")).toBeNull();
    expect(metadataOf("=crm")).toBeNull();
  });
});
