// Elements, and numbers as people read them. Text from a run only ever becomes text, never markup.
"use strict";

/** A new element with these properties and children; a child that is no element is text. */
function make(tag, properties = {}, ...children) {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children.map((child) => child ?? ""));
  return element;
}

/** A number in three digits, with a k, M or G where it is large. */
function short(value) {
  const size = Math.abs(value);
  for (const [factor, letter] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
    if (size >= factor) return digits(value / (letter === "k" ? 1e3 : factor)) + letter;
  }
  return digits(value);
}

function digits(value) {
  return String(Number(value.toPrecision(3)));
}

function duration(seconds) {
  const size = Math.abs(seconds);
  if (size === 0 || size >= 1) return digits(seconds) + " s";
  return size >= 1e-3 ? digits(seconds * 1e3) + " ms" : digits(seconds * 1e6) + " \u00b5s";
}

function bytes(value) {
  for (const [factor, unit] of [[2 ** 30, "GiB"], [2 ** 20, "MiB"], [2 ** 10, "KiB"]]) {
    if (Math.abs(value) >= factor) return digits(value / factor) + " " + unit;
  }
  return digits(value) + " B";
}

/** A value in a unit of `windtunnel list series`. */
function inUnit(value, unit) {
  if (value === null || value === undefined) return "-";
  if (unit === "seconds") return duration(value);
  if (unit === "bytes") return bytes(value);
  if (unit === "bytes/s") return bytes(value) + "/s";
  return short(value) + (unit === "requests/s" ? "/s" : "");
}

/** The value of a custom property of the style. */
function tone(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}
