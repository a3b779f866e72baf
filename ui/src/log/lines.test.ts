import { describe, expect, it } from "vitest";
import type { LogLine } from "../api/types";
import { keep, marked, merge, rank } from "./lines";

const line = (n: number, text = `line ${n}`, level = "info"): LogLine => ({ n, at: "", stream: "log", level, text });

describe("log lines", () => {
  it("merge pages and the stream without doubles, in order", () => {
    const merged = merge([line(1), line(2)], [line(2), line(3)]);
    expect(merged.map((l) => l.n)).toEqual([1, 2, 3]);
    expect(merge(merged, [line(4)]).map((l) => l.n)).toEqual([1, 2, 3, 4]);
    expect(merge(merged, [])).toBe(merged);
  });

  it("treat a level as the least one to show", () => {
    const all = [line(1, "a", "debug"), line(2, "b", "WARNING"), line(3, "c", "critical"), line(4, "d", "odd")];
    expect(keep(all, "", "warning").map((l) => l.n)).toEqual([2, 3]);
    expect(keep(all, "", "").length).toBe(4);
    expect(rank(null)).toBe(1);
  });

  it("find text in any case and mark every hit", () => {
    expect(keep([line(1, "Read FILE"), line(2, "x")], "file", "").map((l) => l.n)).toEqual([1]);
    expect(marked("a File, a file", "file")).toEqual(["a ", "File", ", a ", "file", ""]);
    expect(marked("plain", "")).toEqual(["plain"]);
  });
});
