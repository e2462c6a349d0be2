/* Completes sphinx-design's tab memory where a reader would notice: a link that names a framework works on every
 * page and only for frameworks that exist, a later click is not undone by the address, the Back button and other
 * windows show the latest choice, and a link into a tab opens it each time. Loaded before design-tabs.js, which does
 * the rest.
 *
 * Names the choice at the top of a page to a screen reader, says of what is there for one framework only that it is, to
 * a reader who chose another, and lets the keyboard scroll wide outputs.
 *
 * And lets a reader choose between the runs of a framework, where a page shows several. */
(() => {
  "use strict";
  const { group, names, key } = document.currentScript.dataset;
  const known = names.split(" ");

  const stored = (item = key) => {
    try {
      return window.localStorage.getItem(item);
    } catch {
      return null; // the reader's browser keeps nothing; tabs still work on the page
    }
  };

  const store = (name, item = key) => {
    try {
      window.localStorage.setItem(item, name);
    } catch {
      // see above
    }
  };

  const choose = (name) => {
    for (const label of document.querySelectorAll(`.sd-tab-label[data-sync-group="${group}"]`)) {
      if (label.dataset.syncId === name) document.getElementById(label.htmlFor).checked = true;
    }
  };

  const takeFromAddress = () => {
    const address = new URL(window.location.href);
    const name = address.searchParams.get(group);
    if (name === null) return;
    if (known.includes(name)) {
      store(name);
      document.addEventListener("DOMContentLoaded", () => choose(name));
    }
    try {
      // Taken out of the address, or a reload would undo what the reader clicked since.
      address.searchParams.delete(group);
      window.history.replaceState(window.history.state, "", address);
    } catch {
      // A page opened from a file may not change its address.
    }
  };

  const labelsOf = (set) => set.querySelectorAll(`:scope > .sd-tab-label[data-sync-group="${group}"]`);

  // What the reader chose; who chose nothing reads what the page shows first.
  const chosen = () => {
    if (known.includes(stored())) return stored();
    const sets = [...document.querySelectorAll(".sd-tab-set")].map((set) => [...labelsOf(set)]);
    const open = sets.find((own) => own.length > 1)?.find((label) => document.getElementById(label.htmlFor).checked);
    return open?.dataset.syncId;
  };

  const noteSingles = () => {
    const now = chosen();
    for (const set of document.querySelectorAll(".sd-tab-set")) {
      const [label, another] = labelsOf(set);
      if (!label || another) continue;
      const panel = label.nextElementSibling;
      panel.querySelector(":scope > .polybook-alone")?.remove();
      if (!now || label.dataset.syncId === now) continue;
      const note = document.createElement("p");
      note.className = "polybook-alone";
      note.textContent = `This is about ${label.textContent.trim()} alone.`;
      panel.prepend(note);
    }
  };

  takeFromAddress();
  document.addEventListener("change", noteSingles);
  // design-tabs.js opens the tab that holds the address's fragment, whenever that changes.
  const openFragment = () => window.dispatchEvent(new Event("hashchange"));

  window.addEventListener("pageshow", (event) => {
    const [navigation] = performance.getEntriesByType("navigation");
    // On the way back Chromium restores radio buttons, after every other event.
    if (!event.persisted && navigation?.type !== "back_forward") return;
    choose(stored());
    noteSingles();
    openFragment();
  });
  document.addEventListener("click", (event) => {
    // A second click on the same link changes no fragment, though its tab may be closed again.
    const link = event.target.closest('a[href^="#"]');
    if (link && link.hash === window.location.hash) openFragment();
  });
  // Of several runs of a framework the reader chooses one, on all of the page and, by its name, on the others. Only the
  // chosen one is part of the page: what belongs to another waits in a <template>, or here once it was taken out.
  const runKey = (framework) => `${key}.run.${framework}`;
  const suffix = (element, prefix) =>
    [...element.classList].find((name) => name.startsWith(prefix))?.slice(prefix.length);
  const slug = (label) => label.toLowerCase().replace(/[^a-z0-9]+/g, "-").replace(/^-+|-+$/g, "");
  const labels = (choices) => [...choices.children].map((choice) => choice.textContent);
  const parts = [];

  const collectParts = (root) => {
    for (const element of root.querySelectorAll(".polybook-run")) {
      const isTemplate = element instanceof HTMLTemplateElement;
      const content = isTemplate ? document.importNode(element.content, true) : null;
      if (content) collectParts(content); // a sentence about one framework may quote another one
      // A hidden output stands in a <details> of its own, which goes with it.
      const whole = element.closest("details.hide.below-input") ?? element;
      const marker = document.createComment("polybook");
      whole.before(marker);
      parts.push({
        framework: suffix(element, "polybook-of-"),
        from: suffix(element, "polybook-from-"),
        place: marker.parentElement?.closest(".sd-tab-content") ?? marker.parentElement ?? marker.parentNode,
        marker,
        nodes: content ? [...content.childNodes] : [whole],
        shown: !isTemplate,
      });
      if (isTemplate) element.remove();
    }
  };

  const chooseRun = (framework, label) => {
    const from = slug(label ?? "");
    const own = parts.filter((part) => part.framework === framework);
    // Where that run is not to be had, what is shown stays.
    const places = new Set(own.filter((part) => part.from === from).map((part) => part.place));
    for (const part of own.filter(({ place }) => places.has(place))) {
      const wanted = part.from === from;
      if (wanted && !part.shown) part.marker.after(...part.nodes);
      if (!wanted && part.shown) part.nodes.forEach((node) => node.remove());
      part.shown = wanted;
    }
    for (const choices of document.querySelectorAll(`.polybook-switch.polybook-of-${framework}`)) {
      if (!labels(choices).includes(label)) continue;
      for (const choice of choices.children) {
        choice.setAttribute("aria-pressed", String(choice.textContent === label));
      }
    }
  };

  const makeSwitch = (choices) => {
    const framework = suffix(choices, "polybook-of-");
    choices.setAttribute("role", "group");
    choices.setAttribute("aria-label", "Which run is shown");
    for (const choice of [...choices.children]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = choice.textContent;
      button.setAttribute("aria-pressed", String(choice === choices.firstElementChild));
      button.addEventListener("click", () => {
        const before = button.getBoundingClientRect().top;
        chooseRun(framework, button.textContent);
        // Outputs differ in height; what the reader looks at stays where it was.
        window.scrollBy({ top: button.getBoundingClientRect().top - before, behavior: "instant" });
        store(button.textContent, runKey(framework));
      });
      choice.replaceWith(button);
    }
    choices.classList.add("polybook-ready");
  };

  // An output that is wider than its place scrolls; without a mouse that takes the focus. It changes with the window,
  // and what is hidden has no size yet.
  const outputs = new ResizeObserver((changed) => {
    for (const { target } of changed) {
      if (target.scrollWidth > target.clientWidth) target.tabIndex = 0;
      else target.removeAttribute("tabindex");
    }
  });

  document.addEventListener("DOMContentLoaded", () => {
    collectParts(document);
    const others = parts.flatMap(({ nodes }) => nodes).filter((node) => node instanceof Element);
    const inside = [document, ...others].flatMap((root) => [...root.querySelectorAll(".cell_output")]);
    for (const output of [...inside, ...others.filter((node) => node.matches(".cell_output"))]) outputs.observe(output);
    document.querySelectorAll(".polybook-switch").forEach(makeSwitch);
    for (const framework of known) chooseRun(framework, stored(runKey(framework)));
    for (const set of document.querySelectorAll(".polybook-notebooks")) {
      set.setAttribute("role", "group");
      set.setAttribute("aria-label", "Framework");
    }
    noteSingles();
  });

  window.addEventListener("storage", (event) => {
    if (event.key === key) {
      choose(event.newValue);
      noteSingles();
    }
    for (const framework of known) {
      if (event.key === runKey(framework)) chooseRun(framework, event.newValue);
    }
  });
})();
