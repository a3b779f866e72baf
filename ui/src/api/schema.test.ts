import { readFileSync } from "node:fs";
import openapiTS, { astToString, COMMENT_HEADER } from "openapi-typescript";
import { describe, expect, it } from "vitest";

describe("schema.d.ts", () => {
  it("is what `npm run gen` makes of the committed openapi.json", async () => {
    const source = JSON.parse(readFileSync("openapi.json", "utf8"));
    const made = COMMENT_HEADER + astToString(await openapiTS(source));
    expect(readFileSync("src/api/schema.d.ts", "utf8") === made, "stale: run `npm run gen`").toBe(true);
  }, 30_000);
});
