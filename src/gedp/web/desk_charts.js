"use strict";
// Drawings of a table as plain SVG. Texts are set as text, never as markup.
const DeskCharts = (() => {
  const COLOURS = ["#0b62a4", "#c2410c", "#15803d", "#7c3aed", "#a16207", "#be185d", "#0e7490", "#57534e"];

  function node(name, attributes = {}, text = "") {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    if (text) made.textContent = text;
    return made;
  }
  function drawing(width, height, label, parts) {
    const svg = node("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": label });
    svg.append(...parts);
    return svg;
  }
  const cut = (text, most) => (text.length > most ? text.slice(0, most - 1) + "…" : text);
  // A number where there is little room.
  function short(x) {
    const large = [[1e12, "tn"], [1e9, "bn"], [1e6, "M"], [1e3, "k"]], rounded = +x.toPrecision(3);
    const [factor, letters] = large.find(([least]) => Math.abs(rounded) >= least) ?? [1, ""];
    return String(+(rounded / factor).toPrecision(3)).replace("-", "−") + letters;
  }
  // Round numbers that span some values, about five of them.
  function ticks(low, high) {
    const rough = (high - low || Math.abs(high) || 1) / 5, decade = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((times) => times * decade).find((each) => each >= rough);
    const first = Math.floor(low / step), last = Math.ceil(high / step);
    return Array.from({ length: last - first + 1 }, (_, place) => (first + place) * step);
  }
  const ends = (cells) => cells.flatMap((cell) => [cell.ci_low ?? cell.estimate, cell.ci_high ?? cell.estimate, cell.estimate]);

  // One bar for each line, with its interval. `lines` are {name, cell}.
  function bars(lines, title, wide) {
    const known = lines.filter((line) => line.cell && line.cell.estimate !== null);
    if (!known.length) return null;
    const width = wide ? 760 : 360, left = wide ? 230 : 120, right = 24, step = 22, top = 8;
    const values = ends(known.map((line) => line.cell)), marks = ticks(Math.min(0, ...values), Math.max(0, ...values));
    const low = marks[0], high = marks[marks.length - 1] === low ? low + 1 : marks[marks.length - 1];
    const at = (value) => left + ((value - low) / (high - low)) * (width - left - right), bottom = top + step * known.length;
    const parts = marks.flatMap((mark) => [
      node("path", { class: mark ? "grid" : "axis", d: `M${at(mark)} ${top}V${bottom}` }),
      node("text", { x: at(mark), y: bottom + 15, class: "middle" }, short(mark)),
    ]);
    known.forEach((line, place) => {
      const { estimate, ci_low, ci_high } = line.cell, y = top + step * place, middle = y + step / 2;
      const start = Math.min(at(0), at(estimate));
      parts.push(node("text", { x: left - 6, y: middle + 4, class: "label end" }, cut(line.name, wide ? 36 : 18)));
      parts.push(node("rect", { class: "bar", x: start, y: y + 4, width: Math.max(Math.abs(at(estimate) - at(0)), 0.5), height: step - 8 }));
      if (ci_low !== null && ci_high !== null)
        parts.push(node("path", { class: "error", fill: "none", d: `M${at(ci_low)} ${middle}H${at(ci_high)}M${at(ci_low)} ${middle - 4}v8M${at(ci_high)} ${middle - 4}v8` }));
    });
    return drawing(width, bottom + 24, `Bars of ${title}, with confidence intervals. The numbers are in the table.`, parts);
  }

  // One line for each of the first rows over the columns, with intervals. `series` are {name, cells}.
  function lines(series, heads, title, wide) {
    const shown = series.slice(0, COLOURS.length), cells = shown.flatMap((each) => each.cells).filter((cell) => cell && cell.estimate !== null);
    if (!cells.length || heads.length < 2) return null;
    const width = wide ? 760 : 360, left = 52, right = 16, top = 10, bottom = 250;
    const marks = ticks(Math.min(...ends(cells)), Math.max(...ends(cells))), low = marks[0], high = marks[marks.length - 1];
    const y = (value) => bottom - ((value - low) / (high - low || 1)) * (bottom - top);
    const x = (place, of) => left + 20 + (place / (heads.length - 1)) * (width - left - right - 40) + 3 * (of - shown.length / 2);
    const parts = marks.flatMap((mark) => [
      node("path", { class: "grid", d: `M${left} ${y(mark)}H${width - right}` }),
      node("text", { x: left - 5, y: y(mark) + 4, class: "end" }, short(mark)),
    ]);
    const every = Math.ceil(heads.length / (wide ? 10 : 4));
    heads.forEach((head, place) => {
      const side = place === 0 ? "" : place === heads.length - 1 ? "end" : "middle", most = wide ? 24 : 14;
      const where = side === "" ? left : side === "end" ? width - right : x(place, shown.length / 2);
      if (place % every === 0) parts.push(node("text", { x: where, y: bottom + 16, class: side }, cut(head, most)));
    });
    shown.forEach((each, of) => {
      const points = each.cells.map((cell, place) => [cell, place]).filter(([cell]) => cell && cell.estimate !== null);
      parts.push(node("polyline", { class: "series", stroke: COLOURS[of], points: points.map(([cell, place]) => `${x(place, of)},${y(cell.estimate)}`).join(" ") }));
      for (const [cell, place] of points) {
        parts.push(node("circle", { cx: x(place, of), cy: y(cell.estimate), r: 2.6, fill: COLOURS[of] }));
        if (cell.ci_low !== null && cell.ci_high !== null)
          parts.push(node("path", { stroke: COLOURS[of], d: `M${x(place, of)} ${y(cell.ci_low)}V${y(cell.ci_high)}` }));
      }
      const row = bottom + 36 + 18 * of;
      parts.push(node("rect", { x: left, y: row - 8, width: 14, height: 4, fill: COLOURS[of] }), node("text", { x: left + 20, y: row, class: "label" }, cut(each.name, wide ? 90 : 40)));
    });
    const label = `Lines of ${title} over the columns, with confidence intervals, for the first ${shown.length} rows. The numbers are in the table.`;
    return drawing(width, bottom + 40 + 18 * shown.length, label, parts);
  }

  // Relative errors at every level: the median, and the middle 80% of groups; the scale is logarithmic.
  function levels(found, title, wide) {
    const known = found.filter((level) => level.median !== null && level.median > 0);
    if (!known.length) return null;
    const width = wide ? 760 : 360, left = wide ? 230 : 120, right = 30, step = 30, top = 8, bottom = top + step * known.length;
    const floor = (level) => Math.max(level.low, level.median / 1e3);
    const first = Math.floor(Math.log10(Math.min(...known.map(floor)))), last = Math.max(Math.ceil(Math.log10(Math.max(...known.map((level) => level.high)))), first + 1);
    const at = (share) => left + ((Math.log10(share) - first) / (last - first)) * (width - left - right), parts = [];
    for (let decade = first; decade <= last; decade++)
      parts.push(node("path", { class: "grid", d: `M${at(10 ** decade)} ${top}V${bottom}` }), node("text", { x: at(10 ** decade), y: bottom + 15, class: "middle" }, `${+(100 * 10 ** decade).toPrecision(2)}%`));
    known.forEach((level, place) => {
      const middle = top + step * place + step / 2;
      parts.push(
        node("text", { x: left - 6, y: middle, class: "label end" }, cut(level.title, wide ? 36 : 18)),
        node("text", { x: left - 6, y: middle + 12, class: "end" }, `${level.groups.toLocaleString("en")} groups`),
        node("rect", { class: "bar", x: at(floor(level)), y: middle - 5, width: Math.max(at(level.high) - at(floor(level)), 1), height: 10 }),
        node("path", { class: "error", d: `M${at(level.median)} ${middle - 8}v16` }),
      );
    });
    const said = known.map((level) => `${level.title} ${(100 * level.median).toPrecision(2)}%`).join(", ");
    return drawing(width, bottom + 24, `Relative standard errors of ${title} by level. Medians: ${said}.`, parts);
  }
  return { bars, lines, levels };
})();
