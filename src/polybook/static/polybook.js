/* Completes sphinx-design's tab memory where a reader would notice: a link that names a framework works on every
 * page and only for frameworks that exist, a later click is not undone by the address, the Back button and other
 * windows show the latest choice, and a link into a tab opens it each time. Loaded before design-tabs.js, which does
 * the rest. And lets a reader choose between the runs of a framework, where a page shows several. */
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

  takeFromAddress();
  // design-tabs.js opens the tab that holds the address's fragment, whenever that changes.
  const openFragment = () => window.dispatchEvent(new Event("hashchange"));

  window.addEventListener("pageshow", (event) => {
    const [navigation] = performance.getEntriesByType("navigation");
    // On the way back Chromium restores radio buttons, after every other event.
    if (!event.persisted && navigation?.type !== "back_forward") return;
    choose(stored());
    openFragment();
  });
  document.addEventListener("click", (event) => {
    // A second click on the same link changes no fragment, though its tab may be closed again.
    const link = event.target.closest('a[href^="#"]');
    if (link && link.hash === window.location.hash) openFragment();
  });
  // Of several runs of a framework the reader chooses one, on all of the page and, by its name, on the others.
  const runKey = (framework) => `${key}.run.${framework}`;
  const ofFramework = (element) =>
    [...element.classList].find((name) => name.startsWith("polybook-of-")).slice("polybook-of-".length);
  const labels = (choices) => [...choices.children].map((choice) => choice.textContent);

  const chooseRun = (framework, label) => {
    const own = document.querySelectorAll(`.polybook-switch.polybook-of-${framework}`);
    const number = own.length ? labels(own[0]).indexOf(label) : -1;
    if (number < 0) return; // a run that this page does not have
    for (const part of document.querySelectorAll(`.polybook-run.polybook-of-${framework}`)) {
      part.classList.toggle("polybook-other", !part.classList.contains(`polybook-run-${number}`));
    }
    for (const choices of own) {
      [...choices.children].forEach((choice, n) => choice.setAttribute("aria-pressed", String(n === number)));
    }
  };

  const makeSwitch = (choices) => {
    const framework = ofFramework(choices);
    choices.setAttribute("role", "group");
    choices.setAttribute("aria-label", "Which run is shown");
    for (const choice of [...choices.children]) {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = choice.textContent;
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

  document.addEventListener("DOMContentLoaded", () => {
    const all = document.querySelectorAll(".polybook-switch");
    all.forEach(makeSwitch);
    for (const framework of new Set([...all].map(ofFramework))) {
      const own = document.querySelector(`.polybook-switch.polybook-of-${framework}`);
      const wanted = stored(runKey(framework));
      chooseRun(framework, labels(own).includes(wanted) ? wanted : labels(own)[0]);
    }
  });

  window.addEventListener("storage", (event) => {
    if (event.key === key) choose(event.newValue);
    for (const framework of known) {
      if (event.key === runKey(framework)) chooseRun(framework, event.newValue);
    }
  });
})();
