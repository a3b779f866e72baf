import { describe, expect, it } from "vitest";
import { reasonOption, shellQuoted } from "./shell";

describe("texts as a shell reads them", () => {
  it("keeps quotes, dollars and line ends as they are", () => {
    expect(shellQuoted("the bank's $1\n")).toBe("'the bank'\\''s $1\n'");
  });
  it("leaves a reason out that is not given", () => {
    expect(reasonOption("  ")).toBe("");
    expect(reasonOption(" late ")).toBe(" --reason 'late'");
  });
});
