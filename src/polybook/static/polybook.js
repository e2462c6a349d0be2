/* Completes sphinx-design's tab memory where a reader would notice: a link that names a framework works on every
 * page and only for frameworks that exist, a later click is not undone by the address, the Back button and other
 * windows show the latest choice, and a link into a tab opens it each time. Loaded before design-tabs.js, which does
 * the rest. */
(() => {
  "use strict";
  const { group, names, key } = document.currentScript.dataset;
  const known = names.split(" ");

  const stored = () => {
    try {
      return window.localStorage.getItem(key);
    } catch {
      return null; // the reader's browser keeps nothing; tabs still work on the page
    }
  };

  const store = (name) => {
    try {
      window.localStorage.setItem(key, name);
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
  window.addEventListener("storage", (event) => {
    if (event.key === key) choose(event.newValue);
  });
})();
