// The types of in-place.js: those of solo.js.
export * from "./solo.js";
