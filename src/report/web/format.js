// format.js - numbers as people read them. A kind says what a number is: bytes, seconds, count, amount (of a
// unit that only the run knows), share or plain.
"use strict";

const format = (() => {
  const MISSING = "–";
  const superscript = (n) => String(n).replace(/[-0-9]/g, (c) => (c === "-" ? "⁻" : "⁰¹²³⁴⁵⁶⁷⁸⁹"[c]));

  // At most `digits` digits, without zeros that say nothing: 0.0012, 12.5, 1.25×10⁻⁹.
  function plain(value, digits, small = 1e-3) {
    if (value === 0) return "0";
    const size = Math.abs(value);
    if (size < small || size >= 1e7) {
      const [mantissa, exponent] = value.toExponential(digits - 1).split("e");
      const short = String(Number(mantissa));
      const power = "10" + superscript(Number(exponent));
      return short === "1" ? power : short === "-1" ? "−" + power : short + "×" + power;
    }
    return Number(value.toPrecision(digits)).toLocaleString("en", { maximumFractionDigits: 12 });
  }

  function scaled(value, digits, steps) {
    const size = Math.abs(value);
    // Half a unit of the last digit more, so that 999.9996 kB reads as 1 MB.
    const step = steps.find((s) => size * (1 + 0.5 * 10 ** -digits) >= s[0]) || steps[steps.length - 1];
    return plain(value / step[0], digits) + " " + step[1];
  }

  const BYTES = [[1e15, "PB"], [1e12, "TB"], [1e9, "GB"], [1e6, "MB"], [1e3, "kB"], [1, "B"]];
  const AMOUNTS = [[1e15, "P"], [1e12, "T"], [1e9, "G"], [1e6, "M"], [1e3, "k"]];
  const SECONDS = [[1, "s"], [1e-3, "ms"], [1e-6, "µs"], [1e-9, "ns"]];

  const kinds = {
    plain: (value, digits) => plain(value, digits),
    bytes: (value, digits) => scaled(value, digits, BYTES),
    seconds: (value, digits) => (value === 0 ? "0 s" : scaled(value, digits, SECONDS)),
    count: (value, digits) =>
      Number.isInteger(value) && Math.abs(value) < 1e15 ? value.toLocaleString("en") : plain(value, digits + 2),
    amount: (value, digits) => (Math.abs(value) < 1e3 ? plain(value, digits) : scaled(value, digits, AMOUNTS)),
    share: (value, digits) => (value >= 0.01 && digits > 3 ? (100 * value).toFixed(2) : plain(100 * value, 3)) + " %",
  };

  function number(value, kind = "plain", digits = 4) {
    if (value === null || value === undefined || Number.isNaN(value)) return MISSING;
    if (!Number.isFinite(value)) return value > 0 ? "∞" : "−∞";
    return kinds[kind](value, digits).replace(/^-/, "−");
  }

  // On an axis there is room for less; large counts are shortened as well, and small powers of ten look alike.
  function tick(value, kind, log) {
    if (kind === "count" && Math.abs(value) >= 1e3) return kinds.amount(value, 3);
    if (log && kind === "plain") return plain(value, 3, 0.1);
    return number(value, kind, 3);
  }

  const times = (value) => (value === null ? MISSING : number(value, "plain", value < 100 ? 3 : 4) + " ×");
  const shorten = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);

  return { number, tick, times, shorten, MISSING };
})();
