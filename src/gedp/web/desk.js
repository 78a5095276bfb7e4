"use strict";
// The desk: what is chosen is the address of the page, so a link restores it; every table comes from the API.
(() => {
  const { $, element, named, options, checks, table, chips } = DeskPage;
  const LIMIT = 100, TRIES = 6;
  let release, view, shown, asked, listed;

  const keyOf = (name) => release.keys.find((key) => key.name === name) ?? { name, title: name, codes: 0 };
  // Whether the table also shows what changed, and which column is drawn first then.
  const isChange = () => view.show === "change", firstDrawn = () => (isChange() ? 1 : 0);
  const titleOf = (name) => [...release.attributes, ...release.ratios].find((each) => each.name === name)?.title ?? name;

  // ---- the view and the address
  function read(search) {
    const given = new URLSearchParams(search), where = {};
    for (const text of given.getAll("where")) {
      const key = release.keys.map((each) => each.name).filter((name) => text.startsWith(`${name}=`)).sort((a, b) => b.length - a.length)[0] ?? text.split("=")[0];
      (where[key] ??= []).push(text.slice(key.length + 1));
    }
    const found = {
      rows: given.getAll("rows"), columns: given.get("columns") ?? "", attribute: given.getAll("attribute"), ratio: given.getAll("ratio"), where,
      confidence: given.get("confidence") ?? "", show: given.get("show") === "change" ? "change" : "", sort: given.get("sort") ?? "label", descending: given.get("descending") === "true",
      offset: Number(given.get("offset")) || 0, chart: given.get("chart") ?? "bars", drawn: Number(given.get("drawn")) || 0,
    };
    return [...given].length ? found : { ...found, ...start() };
  }
  // The first view: a coarse grouping that fits the page, and the first attribute.
  function start() {
    const isAlone = (key) => !key.is_class && (!release.is_finished || release.tables.some((each) => each.by.length === 1 && each.by[0] === key.name));
    const fitting = release.keys.filter((key) => key.codes > 1 && key.codes <= 60 && isAlone(key)).sort((a, b) => b.codes - a.codes)[0];
    if (release.is_finished) return viewOf(release.tables.find((each) => fitting && each.by.length === 1 && each.by[0] === fitting.name) ?? release.tables[0]);
    return { rows: fitting ? [fitting.name] : [], attribute: release.attributes.slice(0, 1).map((each) => each.name) };
  }
  // A finished table as a view.
  const viewOf = (each) => ({
    rows: each.by, columns: "", where: {}, attribute: each.figures.filter((name) => release.attributes.some((one) => one.name === name)).slice(0, 1), ratio: [],
    sort: "label", descending: false, drawn: 0, confidence: "",
  });
  // The finished table that a view is of: its keys are shown, or filtered by one code, and it has the figures.
  const finishedOf = (of) => {
    const shown = [...of.rows, of.columns].filter(Boolean), keys = new Set([...shown, ...Object.keys(of.where)]);
    if (Object.entries(of.where).some(([key, codes]) => codes.length > 1 && !shown.includes(key))) return -1;
    const hasAll = (each) => each.by.every((key) => keys.has(key)) && [...of.attribute, ...of.ratio].every((name) => each.figures.includes(name));
    return release.tables.findIndex((each) => each.by.length === keys.size && hasAll(each));
  };
  function parameters(of, part = true) {
    const made = new URLSearchParams();
    for (const row of of.rows) made.append("rows", row);
    if (of.columns) made.append("columns", of.columns);
    for (const name of of.attribute) made.append("attribute", name);
    for (const name of of.ratio) made.append("ratio", name);
    for (const [key, codes] of Object.entries(of.where)) for (const code of codes) made.append("where", `${key}=${code}`);
    if (of.confidence) made.append("confidence", of.confidence);
    if (of.show) made.append("show", of.show);
    if (!part) return made;
    if (of.sort !== "label") made.append("sort", of.sort);
    if (of.descending) made.append("descending", "true");
    if (of.offset) made.append("offset", of.offset);
    return made;
  }
  function address() {
    const made = parameters(view);
    if (view.chart !== "bars") made.append("chart", view.chart);
    if (view.drawn) made.append("drawn", view.drawn);
    return `?${made}`;
  }
  function change(changes, kept = false) {
    view = { ...view, ...(kept ? {} : { offset: 0 }), ...changes };
    history.pushState(null, "", address());
    show();
  }

  // ---- asking
  async function get(path, signal) {
    for (let attempt = 1; ; attempt++) {
      const answer = await fetch(path, { signal });
      const found = await answer.json();
      if (answer.ok) return found;
      if (answer.status !== 503 || attempt === TRIES) throw new Error(found.error);
      await new Promise((resolve) => setTimeout(resolve, 1000 * attempt));
    }
  }
  async function show() {
    asked?.abort();
    asked = new AbortController();
    const { signal } = asked;
    form();
    $("result").setAttribute("aria-busy", "true");
    $("status").textContent = "Working …";
    try {
      const made = parameters(view);
      made.append("limit", LIMIT);
      const all = parameters({ ...view, rows: [] }, false), hasTotal = view.rows.length && (release.is_finished ? finishedOf({ ...view, rows: [] }) >= 0 : !view.rows.some((key) => keyOf(key).is_class));
      const [found, total] = await Promise.all([get(`api/table?${made}`, signal), hasTotal ? get(`api/table?${all}`, signal) : null]);
      shown = found;
      $("problem").hidden = true;
      $("made").hidden = false;
      fill(found, total && sameHeads(found, total) ? total.lines[0] : null);
      await draw(signal);
    } catch (error) {
      if (error.name === "AbortError") return;
      $("problem").textContent = error.message;
      $("problem").hidden = false;
      $("status").textContent = "There is no such table.";
      $("caption").textContent = "No table";
      document.title = release.title;
      for (const id of ["table", "figure"]) $(id).replaceChildren();
      $("made").hidden = true;
    }
    $("result").removeAttribute("aria-busy");
  }
  const sameHeads = (one, other) => JSON.stringify(one.heads) === JSON.stringify(other.heads);

  // ---- what is seen
  function fill(found, total) {
    const rows = found.rows.map((key) => keyOf(key).title).join(", ");
    const titles = new Set(found.heads.map((head) => head.title)), since = isChange() ? `, and their change since ${release.change?.since}` : "";
    const figures = [...new Set(found.heads.filter((head) => head.kind === "figure").map((head) => head.title))];
    const over = found.columns.length ? ` and ${keyOf(found.columns[0]).title}` : "";
    const few = (codes) => codes.slice(0, 3).join(", ") + (codes.length > 3 ? " …" : "");
    const filters = Object.entries(view.where).map(([key, codes]) => `, only ${keyOf(key).title} ${few(codes)}`).join("");
    const caption = `${figures.join(", ")}${since}${rows ? ` by ${rows}${over}` : over.replace(" and", " by")}${filters}`;
    table(found, total, view, { rows, figures: titles.size, caption, quality: release.quality, marks: release.change?.flags ?? [] }, (sort) => {
      const same = view.sort === sort;
      change({ sort, descending: same ? !view.descending : sort !== "label" });
    }, drill);
    const last = found.offset + found.lines.length, all = found.total_lines;
    $("status").textContent = `${all.toLocaleString("en")} ${all === 1 ? "line" : "lines"}.`;
    $("pager").hidden = all <= LIMIT;
    $("lines").textContent = `${found.offset + 1} to ${last} of ${all.toLocaleString("en")}`;
    $("before").disabled = !found.offset;
    $("after").disabled = last >= all;
    $("legend").textContent = `± is half the width of the ${+(100 * found.confidence).toFixed(4)}% confidence interval${isChange() ? ", and the interval of a percentage stands in brackets" : ""}. ${release.is_finished ? "Figures are as they were published; those too uncertain to use may be withheld. Intervals may have been rounded outward, so ± can be a little larger than in the release." : "A figure has no more digits than its error allows; downloads have all of them."}`;
    for (const link of document.querySelectorAll("a[id^=as-]")) link.href = `api/table.${link.id.slice(3)}?${parameters(view, false)}`;
    $("command").textContent = found.command ?? "No command: a name in this table has a comma or spaces around it.";
    $("copy-command").disabled = !found.command;
    options($("drawn"), found.heads.map((head, place) => ({ value: String(place), text: [...head.names, head.title].join(", ") })), String(Math.min(view.drawn, found.heads.length - 1)));
    document.title = `${caption} · ${release.title}`;
  }
  // To the next level of a dimension, inside the group that was chosen.
  function drill(line) {
    const key = view.rows[view.rows.length - 1], keys = release.dimensions.find((each) => each.keys.includes(key))?.keys ?? [];
    const finer = keys[keys.indexOf(key) + 1], code = line.codes[line.codes.length - 1];
    if (isChange() && !release.change?.keys.includes(finer)) return null;
    if (!finer || view.rows.includes(finer) || [...view.rows, view.columns].some((each) => keyOf(each).is_class)) return null;
    const where = { ...view.where };
    view.rows.forEach((row, place) => { where[row] = [line.codes[place]]; });
    return { title: `Show ${keyOf(finer).title} within ${code}`, go: () => change({ where, rows: [...view.rows.slice(0, -1), finer], sort: "label", descending: false }) };
  }
  async function draw(signal) {
    const wide = $("figure").clientWidth > 560, place = Math.min(view.drawn, shown.heads.length - 1), head = shown.heads[place];
    if (!head) return $("figure").replaceChildren();
    const nameOf = (line) => line.names.join(", ") || "All together", title = [...head.names, head.title].join(", ");
    $("drawn-box").hidden = view.chart === "lines" && !isChange();
    let drawn, said;
    if (view.chart === "levels") {
      const dimension = release.dimensions.find((each) => each.keys.includes(view.rows[view.rows.length - 1]));
      const attribute = release.attributes.find((each) => each.name === head.figure);
      if (dimension && attribute) {
        const found = await get(`api/levels?${new URLSearchParams({ dimension: dimension.name, attribute: head.figure })}`, signal);
        drawn = DeskCharts.levels(found.levels.map((level) => ({ ...level, title: keyOf(level.key).title })), head.title, wide);
      }
      said = drawn ? "Relative standard errors at every level: the line is the median, the bar the middle 80% of groups. The scale is logarithmic." : "Choose rows of a dimension and an attribute: ratios and totals have no levels.";
    } else if (view.chart === "lines") {
      const isSame = (each) => each.figure === head.figure && each.kind === head.kind, isOver = shown.columns.length ? isSame : (each) => each.kind === head.kind;
      const over = shown.heads.map((each, at) => at).filter((at) => isOver(shown.heads[at]));
      const names = over.map((at) => (shown.columns.length ? shown.heads[at].names.join(", ") : shown.heads[at].title));
      drawn = DeskCharts.lines(shown.lines.map((line) => ({ name: nameOf(line), cells: over.map((at) => line.cells[at]) })), names, head.title, wide);
      said = drawn ? "The first rows over the columns, with confidence intervals. Sort the table to choose others." : "Choose columns, or several figures: a line goes from one to the next.";
    } else {
      drawn = DeskCharts.bars(shown.lines.slice(0, 40).map((line) => ({ name: nameOf(line), cell: line.cells[place] })), title, wide);
      said = shown.lines.length > 40 ? `${title}: the first 40 lines of the table, with confidence intervals.` : `${title}, with confidence intervals.`;
    }
    $("figure").replaceChildren(...(drawn ? [drawn] : []), element("figcaption", { textContent: said }));
  }

  // ---- the choices
  function form() {
    const none = (text) => ({ value: "", text });
    const place = finishedOf(view), current = release.tables[place], compared = isChange() ? release.change : null;
    const offered = current?.by ?? compared?.keys, isOffered = (name) => !offered || offered.includes(name);
    const keys = release.dimensions.flatMap((dimension) => dimension.keys.map((name) => ({ value: name, text: `${keyOf(name).title} (${keyOf(name).codes.toLocaleString("en")})`, group: dimension.title }))).filter((key) => isOffered(key.value)).map((key) => (release.is_finished ? { ...key, group: "" } : key));
    options($("finished"), [...(current ? [] : [none("choose")]), ...release.tables.map((each, at) => ({ value: String(at), text: each.title }))], current ? String(place) : "");
    for (const [id, isShown] of [["finished-box", release.is_finished], ["formula-box", !release.is_finished], ["confidence-box", !release.is_finished], ["command-part", !release.is_finished]]) $(id).hidden = !isShown;
    const others = [...view.rows, view.columns, ...Object.keys(view.where)].filter((name) => name && !keys.some((key) => key.value === name)).map((name) => ({ value: name, text: name }));
    options($("rows0"), [none("All together"), ...keys, ...others], view.rows[0] ?? "");
    options($("rows1"), [none("–"), ...keys, ...others], view.rows[1] ?? "");
    options($("columns"), [none("figures only"), ...keys, ...others], view.columns);
    options($("filter-key"), [none("choose"), ...keys], $("filter-key").value ?? "");
    const own = view.ratio.filter((name) => !release.ratios.some((ratio) => ratio.name === name));
    const figures = [...release.attributes.map((each) => ({ value: each.name, text: each.title, kind: "attribute" })), ...release.ratios.map((each) => ({ value: each.name, text: each.title, title: each.formula, kind: "ratio" })), ...own.map((text) => ({ value: text, text, kind: "ratio" }))].filter((each) => (current ? current.figures : compared ? [...compared.figures, ...view.attribute, ...view.ratio] : [each.value]).includes(each.value));
    if (!$("figures").contains(document.activeElement) || $("figures").childElementCount !== figures.length)
      checks($("figures"), figures, [...view.attribute, ...view.ratio], (name, isChosen) => {
        const { kind } = figures.find((each) => each.value === name), others = view[kind].filter((each) => each !== name);
        change({ [kind]: isChosen ? [...others, name] : others, sort: "label", drawn: firstDrawn() });
      });
    $("show-box").hidden = !release.change;
    options($("show"), [none("Figures"), ...(release.change ? [{ value: "change", text: `Change since ${release.change.since}` }] : [])], view.show);
    const percents = [...new Set([0.9, release.confidence, 0.95, 0.99])].sort();
    options($("confidence"), percents.map((share) => ({ value: share === release.confidence ? "" : String(share), text: `${+(100 * share).toFixed(4)}%` })), view.confidence);
    chips(Object.entries(view.where).map(([key, codes]) => ({ key, title: keyOf(key).title, codes })), (key) => {
      const where = { ...view.where };
      delete where[key];
      change({ where });
      codesOf($("filter-key").value);
    });
    $("chart").value = view.chart;
  }
  async function codesOf(key) {
    listed?.abort();
    listed = new AbortController();
    $("filter-codes").hidden = !key;
    if (!key) return;
    let found;
    try {
      found = await get(`api/codes?${new URLSearchParams({ key, search: $("filter-search").value, limit: 100 })}`, listed.signal);
    } catch (error) {
      if (error.name === "AbortError") return;
      $("filter-list").replaceChildren();
      $("filter-more").textContent = error.message;
      return;
    }
    const chosen = view.where[key] ?? [], entries = found.codes.map(({ code, name }) => ({ value: code, text: named(name, code) }));
    checks($("filter-list"), entries, chosen, (code, isChosen) => {
      const before = (view.where[key] ?? []).filter((each) => each !== code), where = { ...view.where, [key]: isChosen ? [...before, code] : before };
      if (!where[key].length) delete where[key];
      change({ where });
    });
    $("filter-more").textContent = found.total > found.codes.length ? `${found.codes.length} of ${found.total.toLocaleString("en")}: search for others.` : "";
  }
  async function copy(text, button) {
    const before = button.textContent;
    try {
      await navigator.clipboard.writeText(text);
      $("status").textContent = "Copied.";
      button.textContent = "Copied";
    } catch {
      $("status").textContent = `Copy it by hand: ${text}`;
    }
    setTimeout(() => { button.textContent = before; }, 1500);
  }
  function listen() {
    $("choices").addEventListener("submit", (event) => event.preventDefault());
    for (const id of ["rows0", "rows1"])
      $(id).addEventListener("change", () => change({ rows: [...new Set([$("rows0").value, $("rows1").value, ...(release.is_finished ? view.rows : [])].filter(Boolean))], sort: "label", descending: false }));
    $("finished").addEventListener("change", () => { if ($("finished").value) change(viewOf(release.tables[Number($("finished").value)])); });
    $("columns").addEventListener("change", () => {
      const columns = $("columns").value, back = release.is_finished && view.columns !== columns ? [view.columns].filter(Boolean) : [];
      change({ columns, rows: [...view.rows.filter((key) => key !== columns), ...back], sort: "label", descending: false, drawn: firstDrawn() });
    });
    $("show").addEventListener("change", () => change({ show: $("show").value, sort: "label", descending: false, drawn: $("show").value ? 1 : 0 }));
    $("confidence").addEventListener("change", () => change({ confidence: $("confidence").value }, true));
    const add = () => {
      const text = $("formula").value.trim();
      if (text) change({ ratio: [...new Set([...view.ratio, text])] });
      $("formula").value = "";
    };
    $("add-formula").addEventListener("click", add);
    $("formula").addEventListener("keydown", (event) => { if (event.key === "Enter") { event.preventDefault(); add(); } });
    $("filter-key").addEventListener("change", () => { $("filter-search").value = ""; codesOf($("filter-key").value); });
    $("filter-search").addEventListener("input", () => codesOf($("filter-key").value));
    $("chart").addEventListener("change", () => change({ chart: $("chart").value }, true));
    $("drawn").addEventListener("change", () => change({ drawn: Number($("drawn").value) }, true));
    $("before").addEventListener("click", () => change({ offset: Math.max(view.offset - LIMIT, 0) }));
    $("after").addEventListener("click", () => change({ offset: view.offset + LIMIT }));
    $("copy-link").addEventListener("click", () => copy(new URL(address(), location.href).href, $("copy-link")));
    $("copy-command").addEventListener("click", () => copy($("command").textContent, $("copy-command")));
    window.addEventListener("popstate", () => { view = read(location.search); show(); });
  }
  get("api/release").then((found) => {
    release = found;
    view = read(location.search);
    if (matchMedia("(max-width: 52rem)").matches) $("chooser").open = false;
    listen();
    show();
  });
})();
