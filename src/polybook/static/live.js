/* For `polybook serve` alone: reloads a page when the book was built anew, and shows what went wrong if it was not. */
(() => {
  "use strict";
  const { events, built } = document.currentScript.dataset;
  const NAME = "polybook-live";

  const colours = {
    building: "background: #1f2933; color: #fff; width: auto; inset: auto 1rem 1rem auto; padding: 0.35rem 0.8rem;",
    failed: "background: #2b0d0d; color: #fff; inset: auto 0 0 0; max-height: 60vh; overflow: auto; padding: 1rem 1.5rem;"
      + " border-top: 4px solid #e5484d;",
  };

  const clear = () => document.getElementById(NAME)?.remove();

  const show = (phase, head, text) => {
    clear();
    const box = document.createElement("div");
    box.id = NAME;
    box.dataset.phase = phase;
    box.setAttribute("role", phase === "failed" ? "alert" : "status");
    box.style.cssText = `position: fixed; z-index: 100000; font: 14px/1.5 system-ui, sans-serif; ${colours[phase]}`;
    const title = document.createElement("strong");
    title.textContent = head;
    box.append(title);
    if (text) {
      const shown = document.createElement("pre");
      shown.textContent = text;
      shown.style.cssText = "margin: 0.5rem 0 0; padding: 0; border: 0; background: none; color: inherit;"
        + " font: 13px/1.45 ui-monospace, monospace; white-space: pre-wrap; overflow-wrap: anywhere;";
      box.append(shown);
    }
    document.body.append(box);
  };

  const stream = new EventSource(events);
  stream.addEventListener("message", (event) => {
    const state = JSON.parse(event.data);
    if (String(state.built) !== built) window.location.reload();
    else if (state.phase === "failed") show("failed", "The book could not be built. This is the last good page.", state.text);
    else if (state.phase === "building") show("building", "Building …", "");
    else clear();
  });
  // Else a page that is left keeps its stream, of which a browser allows six.
  window.addEventListener("pagehide", () => stream.close());
  window.addEventListener("pageshow", (event) => {
    if (event.persisted) window.location.reload();
  });
})();
