// The promise, recomputed as the controls move. The same formulas as gedp.neighbors and gedp.accounting.
const data = JSON.parse(document.getElementById("data").textContent);
const byId = (id) => document.getElementById(id);
const inHtml = (text) => Object.assign(document.createElement("p"), { textContent: text }).innerHTML;

// Φ by the continued fraction in the tails and the series in the middle; Φ⁻¹ by bisection on it.
function ndtr(z) {
  const t = Math.abs(z);
  let upper;
  if (t > 38) upper = 0;
  else if (t < 3) {
    let term = t, sum = t;
    for (let n = 1; Math.abs(term) > 1e-17 * sum; n++) { term *= t * t / (2 * n + 1); sum += term; }
    upper = 0.5 - sum * Math.exp(-t * t / 2) / Math.sqrt(2 * Math.PI);
  } else {
    let fraction = 0;
    for (let n = 60; n >= 1; n--) fraction = n / (t + fraction);
    upper = Math.exp(-t * t / 2) / Math.sqrt(2 * Math.PI) / (t + fraction);
  }
  return z > 0 ? 1 - upper : upper;
}
function ndtri(p) {
  let low = -39, high = 39;
  for (let i = 0; i < 80; i++) { const mid = (low + high) / 2; if (ndtr(mid) < p) low = mid; else high = mid; }
  return (low + high) / 2;
}
const power = (mu, alpha) => ndtr(ndtri(alpha) + mu);

// The three neighbor functions, the value at a distance d from x, and uncertainty intervals from them.
const psiFunctions = {
  sqrt: { of: (x, shift) => Math.sqrt(x + shift), back: (y, shift) => y * y - shift,
    moved: (x, d, shift) => x + d * (2 * Math.sqrt(x + shift) + d) },
  log: { of: (x, shift) => Math.log(x + shift), back: (y, shift) => Math.exp(y) - shift,
    moved: (x, d, shift) => x + (x + shift) * Math.expm1(d) },
  linear: { of: (x) => x, back: (y) => y, moved: (x, d) => x + d },
};
function interval({ psi, gamma, shift }, x, signed) {
  const { of, back, moved } = psiFunctions[psi], zero = of(0, shift);
  const at = (d) => {
    const y = of(x, shift) + d;
    if (y >= zero) return Math.max(0, moved(x, d, shift));
    return signed ? -back(2 * zero - y, shift) : 0;
  };
  return [at(-gamma), at(gamma)];
}

// The standard error of a cell that is answered by ψ of its sum: exact for these three.
function cellError({ psi, gamma, shift, mu }, x) {
  const s2 = (gamma / (group.share * mu)) ** 2;
  const variance = { sqrt: 4 * s2 * (x + shift) + 2 * s2 * s2, log: (x + shift) ** 2 * Math.expm1(s2), linear: s2 }[psi];
  return Math.sqrt(variance);
}

// One chart: lines over axes that are logarithmic or plain.
function chart(figure, { lines, xLog, yLog, xRange, yRange, xName, yName, label, format, diagonal }) {
  const width = 340, height = 240, left = 84, right = 34, top = 10, bottom = 36;
  const scale = (log, [a, b], from, to) => (v) => from + (to - from) *
    (log ? (Math.log(v) - Math.log(a)) / (Math.log(b) - Math.log(a)) : (v - a) / (b - a));
  const X = scale(xLog, xRange, left, width - right), Y = scale(yLog, yRange, height - bottom, top);
  const ticks = (log, [a, b], most) => {
    if (!log) return [0, 0.25, 0.5, 0.75, 1].map((t) => a + t * (b - a));
    const first = Math.ceil(Math.log10(a) - 1e-9), last = Math.floor(Math.log10(b) + 1e-9);
    const step = Math.max(1, Math.ceil((last - first) / most)), list = [];
    for (let e = first; e <= last; e += step) list.push(10 ** e);
    return list;
  };
  let svg = `<svg viewBox="0 0 ${width} ${height}" role="img" aria-label="${label}"><title>${label}</title>`;
  for (const t of ticks(xLog, xRange, 3)) svg += `<line class="grid" x1="${X(t)}" x2="${X(t)}" y1="${top}" y2="${height - bottom}"/>` +
    `<text x="${X(t)}" y="${height - bottom + 14}" text-anchor="middle">${format.x(t)}</text>`;
  for (const t of ticks(yLog, yRange, 6)) svg += `<line class="grid" y1="${Y(t)}" y2="${Y(t)}" x1="${left}" x2="${width - right}"/>` +
    `<text x="${left - 6}" y="${Y(t) + 4}" text-anchor="end">${format.y(t)}</text>`;
  svg += `<line class="axis" x1="${left}" x2="${width - right}" y1="${height - bottom}" y2="${height - bottom}"/>` +
    `<line class="axis" x1="${left}" x2="${left}" y1="${top}" y2="${height - bottom}"/>` +
    `<text x="${(left + width - right) / 2}" y="${height - 4}" text-anchor="middle">${xName}</text>` +
    `<text transform="translate(11 ${(top + height - bottom) / 2}) rotate(-90)" text-anchor="middle">${yName}</text>`;
  svg += `<clipPath id="clip-${figure.id}"><rect x="${left}" y="${top}" width="${width - left - right}" height="${height - top - bottom}"/></clipPath>`;
  if (diagonal) svg += `<line class="grid" stroke-width="2" x1="${X(xRange[0])}" y1="${Y(yRange[0])}" x2="${X(xRange[1])}" y2="${Y(yRange[1])}"/>`;
  for (const { points, kind } of lines) {
    const path = points.filter(([x, y]) => Number.isFinite(y) && (!yLog || y > 0))
      .map(([x, y], i) => `${i ? "L" : "M"}${X(x).toFixed(1)} ${Y(y).toFixed(1)}`).join("");
    svg += `<path class="line-${kind}" clip-path="url(#clip-${figure.id})" d="${path}"/>`;
  }
  figure.querySelector(".plot").innerHTML = svg + "</svg>";
}

let group = data.groups[0];
const setting = {};

const LARGEST_LOG_GAMMA = 50;  // as in a spec
const largestSize = () => group.curve[group.curve.length - 1][0];

function resetToSpec() {
  byId("psi").value = group.psi;
  slideAround(group.gamma);
  set({ psi: group.psi, gamma: group.gamma, shift: group.shift, mu: data.mu });
}

function slideAround(gamma) {
  byId("gamma").min = Math.log10(gamma) - 2;
  byId("gamma").max = Math.log10(gamma) + 2;
}

// Another ψ, with a γ that leaves the upper end of the interval around the middle size where it is.
function choosePsi(psi) {
  const shift = psi === group.psi ? group.shift : 0, middle = Math.sqrt(group.curve[0][0] * largestSize());
  const { of } = psiFunctions[psi], high = interval(setting, middle, group.signed)[1];
  let gamma = +(of(high, shift) - of(middle, shift)).toPrecision(3) || setting.gamma;
  if (psi === "log") gamma = Math.min(gamma, LARGEST_LOG_GAMMA);
  if (psi === group.psi && Math.abs(gamma / group.gamma - 1) < 0.01) gamma = group.gamma;
  slideAround(gamma);
  set({ psi, gamma, shift });
}

// Whether everything on the page can be computed.
function isUsable({ psi, gamma, shift, mu }) {
  if (![gamma, shift, mu].every((v) => Number.isFinite(v) && v >= 0) || gamma === 0) return false;
  if (psi === "log" && gamma > LARGEST_LOG_GAMMA) return false;
  return interval({ psi, gamma, shift }, largestSize(), group.signed).every(Number.isFinite);
}

// Takes over new values, shows them on every control but the one in use, and draws.
function set(change, used) {
  const next = { ...setting, ...change }, usable = isUsable(next);
  for (const input of document.querySelectorAll(".controls input, #sample")) input.removeAttribute("aria-invalid");
  if (!usable) { if (used) used.setAttribute("aria-invalid", "true"); return; }
  Object.assign(setting, next);
  const show = (id, value) => { if (byId(id) !== used) byId(id).value = value; };
  show("gamma", Math.log10(setting.gamma));
  show("gamma-number", +setting.gamma.toPrecision(3));
  show("sample", +(100 * sampling()[0]).toPrecision(3));
  show("mu", setting.mu);
  show("mu-number", +strength(setting.mu).replaceAll(",", ""));
  draw();
}

// Which part of the people to ask, of whom each contributes `person`: they may be asked twice, or not.
function sampling() {
  const ratio = 4 * setting.gamma ** 2 / group.person;
  return [1 / ratio, 1 / (1 + ratio)];
}
function samplingText() {
  if (setting.psi !== "sqrt") return "This comparison is for the square root: its intervals grow as the errors of a survey do.";
  const [twice, once] = sampling(), share = (q) => size(+(100 * q).toPrecision(2)) + "%";
  return `To estimate a value with a standard deviation as large as the interval reaches to each side, an attacker would have to ask ` +
    `${twice > 1 ? `more of the region's people than there are (${share(twice)})` : share(twice) + " of the region's people"} ` +
    `if they may be asked twice, ` +
    `and ${share(once)} if not.` + (group.person === 1 ? "" : ` Each person contributes ${size(group.person)}.`);
}

function draw() {
  byId("sampling").textContent = samplingText();
  byId("sample-control").hidden = setting.psi !== "sqrt";
  const name = setting.psi === "linear" ? "x" : `${setting.psi}(x${setting.shift ? " + " + setting.shift : ""})`;
  const asInSpec = ["psi", "gamma", "shift"].every((key) => setting[key] === group[key]);
  byId("spec-setting").textContent = `In the spec: ${group.protection}, μ = ${strength(data.mu)}`;
  byId("setting").textContent = `${group.names.join(", ")}: ψ = ${name}, γ = ${+setting.gamma.toPrecision(3)}` +
    (group.widened ? (asInSpec ? ", widened as in the spec" : ", without the spec's at_least") : "") + `, μ = ${strength(setting.mu)}`;
  byId("now-power").textContent = bound(power(setting.mu, 0.05));

  byId("intervals").innerHTML = group.rows.map((row) => {
    const [low, high] = asInSpec ? [row.low, row.high] : interval(setting, row.size, group.signed);
    const now = [...intervalTexts(low, high), percent((high - low) / row.size)];
    return `<tr><td>${size(row.size)}</td>` + now.map((text) => `<td class="now">${text}</td>`).join("") +
      `<td class="spec">${intervalTexts(row.low, row.high).slice(0, 2).join(" to ")}</td></tr>`;
  }).join("");

  byId("cell-errors").innerHTML = group.cells.map(([x, told]) => {
    const spec = told ?? Infinity;
    const now = asInSpec && setting.mu === data.mu ? spec : cellError(setting, x);
    const show = (e) => Number.isFinite(e) ? inWords(+e.toPrecision(3)) : "∞";
    return `<tr><td>${size(+x.toPrecision(3))}</td><td class="now">${show(now)}</td><td class="now">${show(100 * now / x)}%</td>` +
      `<td class="spec">${show(spec)} (${show(100 * spec / x)}%)</td></tr>`;
  }).join("");

  const sizes = group.curve.map((point) => point[0]);
  const absolute = asInSpec ? group.curve
    : sizes.map((x) => { const [low, high] = interval(setting, x, group.signed); return [x, high - low]; });
  const relative = absolute.map(([x, width]) => [x, width / x]);
  const specAbsolute = group.curve, specRelative = group.curve.map(([x, width]) => [x, width / x]);
  const around = (values) => {
    const logs = values.filter((v) => v > 0).map(Math.log10), first = Math.floor(Math.min(...logs));
    return logs.length ? [10 ** first, 10 ** Math.max(Math.ceil(Math.max(...logs)), first + 1)] : [1, 10];
  };
  const xRange = [sizes[0], sizes[sizes.length - 1]];
  const describe = (what, points, text) => `${what}: ${text(points[0][1])} at size ${size(points[0][0])}, ` +
    `${text(points[points.length - 1][1])} at size ${size(points[points.length - 1][0])}. The dashed line is the spec.`;
  chart(byId("absolute"), { xLog: true, yLog: true, xRange, yRange: around([...absolute, ...specAbsolute].map((p) => p[1])),
    lines: [{ points: specAbsolute, kind: "spec" }, { points: absolute, kind: "now" }], xName: "size of the establishment", yName: "width of the interval",
    label: describe("Width of the interval by size", absolute, (width) => intervalTexts(0, width)[2]), format: { x: inWords, y: inWords } });
  chart(byId("relative"), { xLog: true, yLog: true, xRange, yRange: around([...relative, ...specRelative].map((p) => p[1])),
    lines: [{ points: specRelative, kind: "spec" }, { points: relative, kind: "now" }], xName: "size of the establishment", yName: "width relative to the size",
    label: describe("Width relative to size", relative, percent), format: { x: inWords, y: (t) => inWords(100 * t) + "%" } });
  const alphas = Array.from({ length: 101 }, (_, i) => Math.min(Math.max(i / 100, 1e-4), 1 - 1e-4));
  const curve = (mu) => alphas.map((alpha) => [alpha, power(mu, alpha)]);
  chart(byId("power"), { xRange: [0, 1], yRange: [0, 1],
    lines: [{ points: curve(data.mu), kind: "spec" }, { points: curve(setting.mu), kind: "now" }],
    xName: "chance of a false alarm", yName: "chance of noticing a difference",
    label: `The attacker's power: ${bound(power(setting.mu, 0.05))} at 5% false alarms. The dashed line is the spec.`,
    diagonal: true, format: { x: (t) => 100 * t + "%", y: (t) => 100 * t + "%" } });

  document.body.classList.toggle("as-in-spec", asInSpec && setting.mu === data.mu);
  byId("powers").innerHTML = data.changes.map(([what, steps]) => `<tr><td>${inHtml(what)}</td>` +
    [0.01, 0.05, 0.1].map((alpha) => `<td class="now">${chance(power(steps * setting.mu, alpha))}</td>`).join("") +
    [0.01, 0.05, 0.1].map((alpha) => `<td class="spec">${chance(power(steps * data.mu, alpha))}</td>`).join("") + "</tr>").join("");
}

byId("attribute").innerHTML = data.groups.map((g, i) => `<option value="${i}"></option>`).join("");
data.groups.forEach((g, i) => { byId("attribute").options[i].textContent = g.names.join(", "); });
byId("attribute").addEventListener("change", (event) => { group = data.groups[event.target.value]; resetToSpec(); });
byId("psi").addEventListener("change", ({ target }) => choosePsi(target.value));
byId("gamma").addEventListener("input", ({ target }) => set({ gamma: 10 ** target.value }, target));
byId("gamma-number").addEventListener("input", ({ target }) => set({ gamma: target.valueAsNumber }, target));
byId("sample").addEventListener("input", ({ target }) =>
  set({ gamma: Math.sqrt(group.person / (target.valueAsNumber / 100)) / 2 }, target));
byId("mu").addEventListener("input", ({ target }) => set({ mu: Number(target.value) }, target));
byId("mu-number").addEventListener("input", ({ target }) => set({ mu: target.valueAsNumber }, target));
byId("reset").addEventListener("click", resetToSpec);
resetToSpec();
