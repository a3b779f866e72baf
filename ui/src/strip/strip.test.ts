import { describe, expect, it } from "vitest";
import type { Bucket } from "../api/types";
import { covers, dragText, intervalsOf, rowsOf, union } from "./axis";
import { isCalendar, monthsOf, ticks, yearWindow } from "./calendar";
import { parseSelection, productText, quoteKey, rangeText, splitOutside, unquoteKey } from "./text";
import { bucketCount, clampWindow, MAX_CELLS, pan, zoomAt } from "./zoom";

function days(n: number, start = "2013-01-01"): Bucket[] {
  const first = Date.parse(start);
  return Array.from({ length: n }, (_, i) => {
    const key = new Date(first + i * 86_400_000).toISOString().slice(0, 10);
    return { lo: i, hi: i + 1, first_key: key, last_key: key, start: null, end: null, counts: { missing: 1 } };
  });
}

describe("selection text", () => {
  it("quotes exactly the keys that could be misread", () => {
    for (const key of ["2013-01-01", "2013-01-01T00:00-05:00", "EWR", "Zürich", "a.b"]) expect(quoteKey(key)).toBe(key);
    for (const key of [
      "north, east",
      "a..b",
      "west; coast",
      "x=1",
      "all",
      "latest",
      "missing",
      "Failed",
      'say "hi"',
      "a\\b",
      "two words",
    ]) {
      expect(quoteKey(key).startsWith('"')).toBe(true);
      expect(unquoteKey(quoteKey(key))).toBe(key);
    }
  });

  it("never splits inside quotes", () => {
    expect(splitOutside('"a, b", c', ",")).toEqual(['"a, b"', "c"]);
    expect(splitOutside('"a..b"..c', "..")).toEqual(['"a..b"', "c"]);
    expect(splitOutside('"\\", x", y', ",")).toEqual(['"\\", x"', "y"]);
  });

  it("reads back what it writes", () => {
    const text = productText([
      { dim: "time", text: rangeText("2013-01", "2013-03") },
      { dim: "region", text: [quoteKey("north, east"), quoteKey("south")].join(", ") },
    ]);
    const parsed = parseSelection(text);
    expect(parsed[0]).toEqual({ dim: "time", terms: [{ kind: "range", from: "2013-01", to: "2013-03" }] });
    expect(rowsOf(parsed, "region", ["north, east", "south", "west"])).toEqual(new Set(["north, east", "south"]));
  });

  it("leaves out a dimension chosen whole", () => {
    expect(
      productText([
        { dim: "time", text: null },
        { dim: "origin", text: "EWR" },
      ]),
    ).toBe("origin=EWR");
    expect(productText([{ dim: "time", text: null }])).toBe("all");
  });
});

describe("axis", () => {
  const axis = days(59);

  it("puts text where the drag was", () => {
    const text = dragText(axis, 9, 4);
    expect(text).toBe("2013-01-05..2013-01-10");
    expect(intervalsOf(parseSelection(text), null, axis, 59)).toEqual([[4, 10]]);
  });

  it("knows open ends, short forms, unions, all and latest", () => {
    const at = (text: string) => intervalsOf(parseSelection(text), null, axis, 59);
    expect(at("2013-02-27..")).toEqual([[57, 59]]);
    expect(at("..2013-01-02")).toEqual([[0, 2]]);
    expect(at("2013-02")).toEqual([[31, 59]]);
    expect(at("2013-01-03, 2013-01-01..2013-01-02")).toEqual([[0, 3]]);
    expect(at("all")).toEqual([[0, 59]]);
    expect(at("latest 3")).toEqual([[56, 59]]);
    expect(at("")).toEqual([]);
    expect(at("nonsense")).toEqual([]);
  });

  it("merges and measures intervals", () => {
    expect(
      union([
        [4, 6],
        [0, 2],
        [2, 3],
        [9, 9],
      ]),
    ).toEqual([
      [0, 3],
      [4, 6],
    ]);
    expect(covers([[0, 3]], 0, 3)).toBe("all");
    expect(covers([[0, 3]], 2, 5)).toBe("some");
    expect(covers([[0, 3]], 3, 5)).toBe("none");
  });
});

describe("calendar", () => {
  it("lays months out with Monday first and no day lost", () => {
    const months = monthsOf(days(365));
    expect(months).toHaveLength(12);
    expect(months.map((m) => m.days.length)).toEqual([31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31]);
    expect(months[0].days[0]).toMatchObject({ column: 1, row: 0, day: 1 }); // 1 January 2013 was a Tuesday
    const seats = new Set(months[0].days.map((d) => `${d.row}/${d.column}`));
    expect(seats.size).toBe(31);
  });

  it("is for single days only", () => {
    expect(isCalendar("day", days(3))).toBe(true);
    expect(isCalendar("week", days(3))).toBe(false);
    expect(isCalendar("day", [{ ...days(1)[0], hi: 9 }])).toBe(false);
  });

  it("finds a year's ordinals, leap years included", () => {
    expect(yearWindow("2019-06-01", 2020, 5000)).toEqual({ lo: 214, hi: 580 });
    expect(yearWindow("2019-06-01", 2019, 5000)).toEqual({ lo: 0, hi: 214 });
  });

  it("labels by the finest unit that fits", () => {
    expect(ticks(days(365), 14).map((t) => t.text)).toEqual([
      "Jan 2013",
      "Feb",
      "Mar",
      "Apr",
      "May",
      "Jun",
      "Jul",
      "Aug",
      "Sep",
      "Oct",
      "Nov",
      "Dec",
    ]);
    expect(ticks(days(5), 10)[1]).toEqual({ index: 1, text: "2 Jan" });
  });
});

describe("zoom", () => {
  it("keeps the pivot and the bounds", () => {
    expect(zoomAt({ lo: 0, hi: 1000 }, 0.5, 0.5, 1000)).toEqual({ lo: 250, hi: 750 });
    expect(zoomAt({ lo: 0, hi: 100 }, 4, 0, 1000)).toEqual({ lo: 0, hi: 400 });
    expect(clampWindow(-50, 50, 1000)).toEqual({ lo: 0, hi: 100 });
    expect(clampWindow(10, 11, 1000)).toEqual({ lo: 10, hi: 18 });
    expect(clampWindow(0, 99, 3)).toEqual({ lo: 0, hi: 3 });
    expect(pan({ lo: 0, hi: 100 }, 0.5, 120)).toEqual({ lo: 20, hi: 120 });
  });

  it("never asks for more elements than the page may hold", () => {
    expect(bucketCount(8760, 3, 4000)).toBeLessThanOrEqual(MAX_CELLS / 3);
    expect(bucketCount(12, 16, 1200)).toBe(12);
    expect(bucketCount(8760, 1, 700)).toBe(100);
  });
});
