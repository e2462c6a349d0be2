/* Searches the book's sections (polybook-search-texts.js, loaded before) and shows where the words stand. Works from a
 * file: nothing is fetched. A section is one result, whichever tabs the words stand in; a result whose words stand in
 * one framework's tab only says so, and its link opens that tab. */
(() => {
  "use strict";
  const MOST = 50;
  const AROUND = 70; // characters shown before and after a word
  const root = document.documentElement.dataset.content_root ?? "./";
  const { frameworks, pages } = window.polybookTexts;
  // The builder `dirhtml` makes a folder of each page.
  const address = (page) =>
    DOCUMENTATION_OPTIONS.BUILDER === "dirhtml" ? `${page}/`.replace(/(^|\/)index\/$/, "$1") : `${page}.html`;
  const isLetter = (character) => /[\p{L}\p{N}_]/u.test(character ?? "");

  // What a section offers to search in: kept in lower case, beside the text itself.
  const entries = pages.flatMap(({ page, title, sections }) =>
    sections.map((section) => ({
      page,
      pageTitle: title,
      ...section,
      low: section.title.toLowerCase(),
      blocks: section.blocks.map(([framework, text]) => ({ framework, text, low: text.toLowerCase() })),
    })),
  );

  // "a phrase in quotes" is one word. A plain English word is sought by its stem, so that `waits` finds `waiting`; a
  // name of code, with a dot, a digit or an underscore, as it is.
  const wordsOf = (query) =>
    [...query.toLowerCase().matchAll(/"([^"]+)"|(\S+)/g)].flatMap(([, phrase, word]) => {
      if (phrase) return [phrase.trim()];
      const bare = word.replace(/^[^\p{L}\p{N}_]+|[^\p{L}\p{N}_)]+$/gu, "").replace(/\(\)?$/, "");
      return bare ? [stem(bare)] : [];
    });
  const stem = (word) => (/^[a-z]{5,}$/.test(word) ? word.replace(/(ings?|ed|es|s)$/, "") : word);

  // A word stands where one begins; inside of a name it is found too, as `synchronize` is in `torch.cuda.synchronize`.
  const find = (text, word, from = 0) => {
    for (let at = text.indexOf(word, from); at >= 0; at = text.indexOf(word, at + 1)) {
      if (!isLetter(text[at - 1]) || text[at - 1] === "_") return at;
    }
    return -1;
  };

  const count = (text, word) => {
    let found = 0;
    for (let at = find(text, word); at >= 0; at = find(text, word, at + word.length)) found += 1;
    return found;
  };

  // A heading counts most, above all one that is nothing but what is sought; then how often the words stand there.
  const score = (entry, words, query) => {
    if (entry.low === query) return 10_000;
    let sum = entry.low.includes(query) ? 1_000 : 0;
    for (const word of words) {
      const times = entry.blocks.reduce((total, { low }) => total + count(low, word), 0);
      const inTitle = find(entry.low, word) >= 0;
      if (!times && !inTitle) return 0;
      sum += (inTitle ? 100 : 0) + Math.min(times, 20);
    }
    return sum;
  };

  // The block that holds most of the words, prose before code where both hold as many.
  const bestBlock = (entry, words) => {
    const holds = ({ low }) => words.filter((word) => find(low, word) >= 0).length;
    return entry.blocks.map((block) => ({ block, holds: holds(block) })).sort((a, b) => b.holds - a.holds)[0];
  };

  // The framework in whose tab alone the words stand, if it is one.
  const onlyIn = (entry, words) => {
    const holding = entry.blocks.filter(({ low }) => words.some((word) => find(low, word) >= 0));
    const whose = new Set(holding.map(({ framework }) => framework));
    const inTitle = words.some((word) => find(entry.low, word) >= 0);
    return !inTitle && whose.size === 1 && !whose.has("") ? [...whose][0] : "";
  };

  const element = (name, className, text = "") => {
    const made = document.createElement(name);
    if (className) made.className = className;
    made.textContent = text;
    return made;
  };

  const marked = (parent, text, words) => {
    const low = text.toLowerCase();
    let at = 0;
    while (at < text.length) {
      const next = words
        .map((word) => ({ word, start: find(low, word, at) }))
        .filter(({ start }) => start >= 0)
        .sort((a, b) => a.start - b.start || b.word.length - a.word.length)[0];
      if (!next) break;
      let end = next.start + next.word.length;
      while (/^[a-z]+$/.test(next.word) && isLetter(text[end]) && text[end] !== "_") end += 1;
      parent.append(text.slice(at, next.start), element("mark", "", text.slice(next.start, end)));
      at = end;
    }
    parent.append(text.slice(at));
  };

  const excerpt = ({ text, low }, words) => {
    const places = words.map((word) => find(low, word)).filter((at) => at >= 0);
    const first = Math.min(...(places.length ? places : [0]));
    let start = Math.max(0, first - AROUND);
    let end = Math.min(text.length, Math.max(first + 2 * AROUND, ...places.filter((at) => at < first + 3 * AROUND)) + AROUND);
    while (start > 0 && !/\s/.test(text[start - 1])) start -= 1;
    while (end < text.length && !/\s/.test(text[end])) end += 1;
    const cut = text.slice(start, end).replace(/\s+/g, " ");
    return (start > 0 ? "… " : "") + cut.trim() + (end < text.length ? " …" : "");
  };

  const result = (entry, words) => {
    const item = element("li");
    const link = element("a", "polybook-result-title");
    marked(link, entry.title || entry.pageTitle, words);
    const framework = onlyIn(entry, words);
    const choice = framework ? `?framework=${framework}` : "";
    link.href = `${root}${address(entry.page)}${choice}${entry.anchor ? `#${entry.anchor}` : ""}`;
    const where = [entry.title === entry.pageTitle ? "" : entry.pageTitle, frameworks[framework]].filter(Boolean);
    item.append(link);
    if (where.length) item.append(" ", element("span", "polybook-result-page", where.join(" · ")));
    const best = bestBlock(entry, words);
    if (best) {
      const shown = element("p");
      marked(shown, excerpt(best.block, words), words);
      item.append(shown);
    }
    return item;
  };

  const search = (query) => {
    const plain = query.trim().toLowerCase().replace(/\s+/g, " ");
    const words = wordsOf(query);
    const found = words.length
      ? entries
          .map((entry) => ({ entry, points: score(entry, words, plain) }))
          .filter(({ points }) => points > 0)
          .sort((a, b) => b.points - a.points)
      : [];
    return { words, found };
  };

  const show = (query) => {
    const out = document.getElementById("search-results");
    const { words, found } = search(query);
    const list = element("ol", "polybook-results");
    list.append(...found.slice(0, MOST).map(({ entry }) => result(entry, words)));
    const what = words.length > 1 ? "all of these words" : "this word";
    const places = found.length === 1 ? "1 section has" : `${found.length} sections have`;
    const cut = found.length > MOST ? `; the best ${MOST} are shown` : "";
    const told = found.length ? `${places} ${what}${cut}.` : `No section of this book has ${what}.`;
    status.textContent = words.length ? told : "";
    out.replaceChildren(...(words.length ? [status, list] : [status]));
  };

  const status = element("p", "search-summary");
  status.setAttribute("role", "status");

  const keep = (query) => {
    try {
      // So that pages mark the words, as Sphinx's own search has them do (sphinx_highlight.js).
      window.localStorage.setItem("sphinx_highlight_terms", query.toLowerCase().replaceAll('"', ""));
      const here = new URL(window.location.href);
      here.searchParams.set("q", query);
      window.history.replaceState(window.history.state, "", here);
    } catch {
      // The reader's browser keeps nothing, or the page was opened from a file.
    }
  };

  const fields = document.querySelectorAll('input[name="q"]');
  for (const field of fields) {
    field.value = new URLSearchParams(window.location.search).get("q") ?? "";
    field.addEventListener("input", () => {
      show(field.value);
      keep(field.value);
    });
  }
  const asked = new URLSearchParams(window.location.search).get("q") ?? "";
  if (asked) keep(asked);
  show(asked);
})();
