import { expect, it, vi } from "vitest";

vi.stubGlobal("location", { hash: "" });
vi.stubGlobal("addEventListener", () => {});
const { href, split } = await import("./route");

it("paths go both ways, whatever is in them", () => {
  expect(split("")).toEqual([]);
  expect(split("#/")).toEqual([]);
  expect(split("#/vips/web")).toEqual(["vips", "web"]);
  for (const name of ["a b", "a/b", "<img src=x>", "ü", "%"]) expect(split(href("vips", name))).toEqual(["vips", name]);
  expect(split("#/vips/%zz")).toEqual(["vips", "%zz"]);
});
