"use strict";
// Numbers as people read them: the same rules as gedp/numbers.py, digit by digit.
const DIGITS = 13, LARGEST = 15;

function taken(x) {
  const [digits, decade] = Math.abs(x).toExponential(DIGITS - 1).split("e");
  return { digits: BigInt(digits.replace(".", "")), decade: Number(decade) };
}
// The digits without the last ones, a half to the even digit.
function halfEven(digits, dropped) {
  if (dropped <= 0) return digits * 10n ** BigInt(-dropped);
  const unit = 10n ** BigInt(dropped), kept = digits / unit, rest = 2n * (digits % unit);
  return kept + (rest > unit || (rest === unit && kept % 2n === 1n) ? 1n : 0n);
}
function fixed(x, places) {
  if (!Number.isFinite(x)) return x < 0 ? "−∞" : "∞";
  const { digits, decade } = taken(x);
  if (decade >= LARGEST) {
    const three = String(halfEven(digits, DIGITS - 3)), carried = three.length - 3;
    return `${x < 0 ? "−" : ""}${three[0]}.${three.slice(1, 3)}e${decade + carried}`;
  }
  const rounded = halfEven(digits, DIGITS - 1 - decade - places), text = String(rounded).padStart(places + 1, "0");
  const whole = grouped(text.slice(0, text.length - places));
  return (x < 0 && rounded ? "−" : "") + whole + (places ? "." + text.slice(text.length - places) : "");
}
const grouped = (digits) => digits.replace(/\B(?=(\d{3})+$)/g, ",");
function placesOf(x) {
  const { digits, decade } = taken(x), zeros = DIGITS - String(digits).replace(/0+$/, "").length;
  return digits ? Math.max(0, DIGITS - 1 - decade - zeros) : 0;
}
const isExact = (x) => Number.isInteger(x) && Math.abs(x) < 10 ** LARGEST;
const size = (x) => isExact(x) ? (x < 0 ? "−" : "") + grouped(String(Math.abs(x))) : fixed(x, placesOf(x));
// A number where people read it: "100,000", "3 billion".
function inWords(x, digits = 6) {
  const rounded = +x.toPrecision(digits), large = [[1e12, " trillion"], [1e9, " billion"], [1e6, " million"]];
  const [factor, word] = large.find(([least]) => Math.abs(rounded) >= least) ?? [1, ""];
  const shown = +Math.abs(rounded / factor).toPrecision(Math.max(digits, 6));
  return (rounded < 0 ? "−" : "") + shown.toLocaleString("en-US", { maximumFractionDigits: 20 }) + word;
}
// Where there is little room, such as at an axis.
function short(x, digits = 6) {
  const rounded = +x.toPrecision(digits), large = [[1e12, "tn"], [1e9, "bn"], [1e6, "M"], [1e3, "k"]];
  const [factor, letters] = large.find(([least]) => Math.abs(rounded) >= least) ?? [1, ""];
  return (rounded < 0 ? "−" : "") + +Math.abs(rounded / factor).toPrecision(6) + letters;
}
const percent = (share) => fixed(100 * share, 1) + "%";
// Rounded up, since it is a bound; no attack succeeds for certain.
function chance(p) {
  const thousandths = Math.ceil(1000 * p - 1e-9);
  return thousandths > 999 ? "> 99.9%" : (thousandths / 10).toFixed(1) + "%";
}
const bound = (p) => chance(p).startsWith(">") ? "more than" + chance(p).slice(1) : "at most " + chance(p);
// μ to four decimals, rounded up, since it is a bound too.
function strength(mu) {
  const { digits, decade } = taken(mu), dropped = DIGITS - 5 - decade;
  if (!Number.isFinite(mu) || decade >= LARGEST) return fixed(mu, 1);
  const unit = 10n ** BigInt(Math.max(dropped, 0)), raise = digits % unit ? 1n : 0n;
  const text = String(digits / unit + raise) + "0".repeat(Math.max(-dropped, 0)), padded = text.padStart(5, "0");
  return (grouped(padded.slice(0, -4)) + "." + padded.slice(-4)).replace(/0+$/, "").replace(/\.$/, "");
}
// The ends of an interval and its width: one decimal, none if it is 1,000 wide, three digits of a width below 1.
function intervalTexts(low, high) {
  const width = high - low;
  let places = width >= 1000 ? 0 : 1;
  if (width > 0 && width < 1) {
    const known = DIGITS - 1 - Math.max(taken(low).decade, taken(high).decade);
    places = Math.min(2 - taken(width).decade, Math.max(known, 1));
  }
  return [low, high, width].map((x) => fixed(x, places));
}
