"use strict";
// The parts of the page: lists of choices, the table, filters. Texts are set as text, never as markup.
const DeskPage = (() => {
  const $ = (id) => document.getElementById(id);

  function element(name, properties = {}, ...children) {
    const made = Object.assign(document.createElement(name), properties);
    made.append(...children);
    return made;
  }
  // What people call a code: its name, and the code where that is something else.
  const named = (name, code) => (name === code ? [code] : [name, " ", element("span", { className: "code", textContent: code })]);

  function options(select, entries, chosen) {
    select.replaceChildren(...entries.map(({ value, text, group }) => {
      const option = element("option", { value, textContent: text, selected: value === chosen });
      return group ? Object.assign(option, { group }) : option;
    }));
    const groups = new Map();
    for (const option of [...select.children]) {
      if (!option.group) continue;
      if (!groups.has(option.group)) groups.set(option.group, select.appendChild(element("optgroup", { label: option.group })));
      groups.get(option.group).append(option);
    }
    select.value = chosen;
  }

  function checks(box, entries, chosen, changed) {
    box.replaceChildren(...entries.map(({ value, text, title }) => {
      const input = element("input", { type: "checkbox", value, checked: chosen.includes(value) });
      input.addEventListener("change", () => changed(value, input.checked));
      return element("label", { className: "check", title: title ?? "" }, input, element("span", {}, ...[text].flat()));
    }));
  }

  // The classes of quality, from good to bad: the last but one of those with an error is poor, the others after it worst.
  // Marks of changes are only told apart by what they say.
  function flag(name, classes, marks) {
    const mark = marks.find((each) => each.name === name);
    if (mark) return element("span", { className: `flag${name === "significant" ? "" : " mark"}`, textContent: name, title: mark.meaning });
    const place = classes.findIndex((each) => each.name === name), poor = Math.max(classes.length - 3, 0);
    const made = element("span", { className: `flag${place < poor || classes.length < 3 ? "" : place === poor ? " poor" : " worst"}`, textContent: name });
    made.title = classes[place]?.meaning ?? "";
    return made;
  }
  function cell(found, head, { quality, marks }) {
    if (!found) return element("td", { textContent: "" }, element("span", { className: "soft", textContent: "–", title: "no such group" }));
    const error = head.kind === "figure" ? `relative standard error ${found.relative}, ${found.variance_kind}` : `standard error ${found.variance_kind}`;
    const made = element("td", { title: error, className: head.kind === "percent" ? "percent" : "" }, found.text, " "), margin = head.kind === "percent" ? `(${found.margin})` : `± ${found.margin}`;
    made.append(element("span", { className: "margin", textContent: found.std_error === null ? "" : margin }));
    if (found.quality) made.append(flag(found.quality, quality, head.kind === "figure" ? [] : marks));
    return made;
  }

  // A heading that sorts. `sort` is what the view is sorted by now.
  function heading(text, value, view, sorted, span = 1) {
    const button = element("button", { type: "button", className: "sort", textContent: text });
    button.dataset.sort = value;
    button.addEventListener("click", () => sorted(value));
    const th = element("th", { scope: "col", colSpan: span }, button);
    if (view.sort === value) th.setAttribute("aria-sort", view.descending ? "descending" : "ascending");
    return th;
  }

  // The table. `drill` gives what a click on a row does, or nothing.
  function table(found, total, view, titles, sorted, drill) {
    const before = document.activeElement?.dataset?.sort;
    const counts = found.lines.some((line) => line.establishments !== null);
    const first = element("tr", {}, heading(titles.rows || "All together", "label", view, sorted));
    if (counts) first.append(element("th", { scope: "col", textContent: "Establish\u00adments" }));
    found.heads.forEach((head, place) => {
      const text = [...head.names, ...(titles.figures > 1 || !head.names.length ? [head.title] : [])].join(", ");
      first.append(heading(text, String(place), view, sorted));
    });
    const line = (each, label) => {
      const th = element("th", { scope: "row", className: "row" }, ...label);
      const number = element("td", { textContent: each.establishments === null ? "" : each.establishments.toLocaleString("en") });
      return element("tr", {}, th, ...(counts ? [number] : []), ...each.cells.map((one, place) => cell(one, found.heads[place], titles)));
    };
    const body = found.lines.map((each) => {
      const act = drill(each), label = each.codes.flatMap((code, place) => [place ? ", " : "", ...named(each.names[place], code)]);
      if (!act) return line(each, each.codes.length ? label : ["All together"]);
      const button = element("button", { type: "button", className: "drill", title: act.title }, ...label);
      button.addEventListener("click", act.go);
      return line(each, [button]);
    });
    const foot = total ? [element("tfoot", {}, line(total, ["All of these together"]))] : [];
    const made = element("table", {}, element("thead", {}, first), element("tbody", {}, ...body), ...foot);
    made.setAttribute("aria-labelledby", "caption");
    $("caption").textContent = titles.caption;
    $("table").replaceChildren(made);
    if (before !== undefined) made.querySelector(`[data-sort="${before}"]`)?.focus();
  }

  function chips(filters, removed) {
    $("filters").replaceChildren(...filters.map(({ key, title, codes }) => {
      const text = `${title}: ${codes.slice(0, 4).join(", ")}${codes.length > 4 ? ` and ${codes.length - 4} more` : ""} ✕`;
      const button = element("button", { type: "button", textContent: text });
      button.setAttribute("aria-label", `Remove the filter ${text.slice(0, -2)}`);
      button.addEventListener("click", () => removed(key));
      return element("li", {}, button);
    }));
  }
  return { $, element, named, options, checks, table, chips };
})();
