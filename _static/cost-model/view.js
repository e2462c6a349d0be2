/* The cost model to play with: puts `controls.js` into each `<div class="cost-model">`, and shows there what `model.js`
 * says, drawn by `drawing.js`. No library, no request, no module (which a page opened from a file may not load).
 *
 * What was fitted stands in tables of class `cost-model-fitted`, one a framework: a row is an operation, its cells are
 * t1, t2 and t3, quoted from the run. They are read when a preset is chosen, from the table whose tab is open. */
(() => {
  "use strict";
  const { predict } = costModel;
  const { draw, element, rounded, toldTime } = costModelDrawing;
  const { Bar, Control, QUANTITIES, make } = costModelControls;

  const PAUSE_MS = 500; // so long after the last change it is told in words
  /** The values of the drawing that stands here without JavaScript. */
  const FIRST = { n: 8, t1: 1000, t2: 3000, t3: 1000, capacity: 2 };
  const FITTED = { n: 100, capacity: null };
  const LONG_QUEUE = { n: 4000, capacity: 1024 };

  /** The number that a recorded value was written for: "14 000 µs", "1.20 × 10⁻⁴ µs"; NaN if it is none. */
  const microseconds = (text) => {
    const superscripts = "⁻⁰¹²³⁴⁵⁶⁷⁸⁹";
    const plain = text
      .replace(
        /\s*×\s*10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+)/u,
        (_, power) => `e${[...power].map((c) => "-0123456789"[superscripts.indexOf(c)]).join("")}`,
      )
      .replace(/\s/gu, "");
    const found = /^(\d+(?:\.\d+)?(?:e-?\d+)?)(?:µs|μs)$/u.exec(plain);
    return found ? Number(found[1]) : NaN;
  };

  /** What the tables that can be seen say: the framework's title, and for each operation its times. */
  const readFitted = () => {
    const tables = [...document.querySelectorAll("table.cost-model-fitted")];
    const table = tables.find((each) => each.getClientRects().length > 0) ?? tables[0];
    if (!table) return { title: "", rows: [] };
    const label = table.closest(".sd-tab-content")?.previousElementSibling;
    const rows = [...table.tBodies[0].rows].map(({ cells }) => {
      const [name, ...values] = [...cells].map((cell) => cell.textContent.trim());
      const [t1, t2, t3] = values.map(microseconds);
      return { name, times: { t1, t2, t3 } };
    });
    return {
      title: label?.textContent.trim() ?? "",
      rows: rows.filter((row) => Object.values(row.times).every(Number.isFinite)),
    };
  };

  const operations = (count) => `${rounded(count, 5)} ${count === 1 ? "operation" : "operations"}`;
  const tellQueue = ({ issueTime, longestQueue, waitForRoom }) => {
    const issued = `With one wait the frontend has issued everything after ${toldTime(issueTime)}`;
    if (waitForRoom > 1e-9 * issueTime)
      return `${issued}, of which it waits ${toldTime(waitForRoom)} for room in the queue, which is full.`;
    return longestQueue === 0
      ? `${issued}; the queue is always empty.`
      : `${issued}; at most ${operations(longestQueue)} ${longestQueue === 1 ? "waits" : "wait"} in the queue.`;
  };
  const tellDrawn = ({ n }, { syncTotal }, { end, once, each }) =>
    end >= syncTotal || n === each
      ? "The drawing shows both from beginning to end."
      : `The drawing shows the first ${toldTime(end)}: in that time the backend is done with ${operations(once)} with one wait, and with ${rounded(each, 5)} with a wait after each.`;
  const tellGain = ({ syncTotal, asyncTotal }) => {
    if (syncTotal - asyncTotal <= 1e-9 * syncTotal) return "One wait and a wait after each take the same.";
    return `One wait is ${rounded(syncTotal / asyncTotal)} times as fast and saves ${toldTime(syncTotal - asyncTotal)}.`;
  };
  const tellRegime = ({ t1, t2 }, { regime }) =>
    regime === "backend-bound"
      ? `the backend sets the pace, ${toldTime(t2)} an operation${t1 === t2 ? "; the frontend is just as fast" : ""}`
      : `the frontend sets the pace, ${toldTime(t1)} an operation`;

  class View {
    constructor(root, number) {
      const prefix = `cost-model-${number}`;
      this.root = root;
      this.pattern = `${prefix}-hatched`;
      this.inputs = { ...FIRST };
      this.preset = null;
      this.controls = {};
      for (const name of Object.keys(QUANTITIES)) {
        this.controls[name] = new Control(name, prefix, (value) => this.change({ [name]: value }));
      }
      this.unlimited = make("input", { type: "checkbox", id: `${prefix}-unlimited` });
      this.unlimited.addEventListener("change", () =>
        this.change({ capacity: this.unlimited.checked ? null : this.controls.capacity.last }),
      );
      this.controls.capacity.row.append(make("label", { class: "cost-model-unlimited" }, this.unlimited, " no limit"));
      this.presets = make("div", {
        class: "cost-model-presets",
        role: "group",
        "aria-labelledby": `${prefix}-presets`,
      });
      this.regime = make("p", { class: "cost-model-regime" });
      this.bars = { sync: new Bar("A wait after each"), async: new Bar("One wait") };
      this.gain = make("p", { class: "cost-model-gain" });
      this.told = make("p", { class: "cost-model-told", id: `${prefix}-told`, "aria-live": "polite" });
      this.svg = element("svg", {
        role: "img",
        "aria-label": "Frontend, queue and backend over time",
        "aria-describedby": `${prefix}-told`,
      });
      this.svg.append(this.hatched());
      this.canvas = make("div", { class: "cost-model-drawing" }, this.svg);
      this.whole = this.choice(prefix, "the whole run");
      this.begin = this.choice(prefix, "the first operations");
      this.begin.checked = true;
      this.prefix = prefix;
    }

    choice(prefix, label) {
      const radio = make("input", { type: "radio", name: `${prefix}-shown` });
      radio.dataset.label = label;
      radio.addEventListener("change", () => this.update());
      return radio;
    }

    hatched() {
      const pattern = element("pattern", {
        id: this.pattern,
        width: "6",
        height: "6",
        patternUnits: "userSpaceOnUse",
        patternTransform: "rotate(45)",
      });
      pattern.append(element("path", { d: "M1.5 0V6", class: "cost-model-hatch" }));
      const defs = element("defs");
      defs.append(pattern);
      return defs;
    }

    legend() {
      const entries = [
        ["call", "a call of the frontend"],
        ["work", "an operation"],
        ["wait", "the frontend waits"],
        ["queue", "how many wait in the queue (dashed: its room)"],
      ];
      return make(
        "ul",
        { class: "cost-model-legend" },
        ...entries.map(([kind, text]) => make("li", { class: `cost-model-key-${kind}` }, text)),
      );
    }

    start() {
      const shown = [this.begin, this.whole].map((radio) => make("label", {}, radio, ` ${radio.dataset.label}`));
      this.root.replaceChildren(
        this.presets,
        make(
          "div",
          { class: "cost-model-controls", role: "group", "aria-label": "The model's numbers" },
          ...Object.values(this.controls).map(({ row }) => row),
        ),
        make("div", { class: "cost-model-results" }, this.regime, this.bars.sync.row, this.bars.async.row, this.gain),
        make(
          "div",
          { class: "cost-model-shown", role: "radiogroup", "aria-label": "What is drawn" },
          make("span", { "aria-hidden": "true" }, "Drawn:"),
          ...shown,
        ),
        this.canvas,
        this.legend(),
        this.told,
      );
      this.root.classList.add("cost-model-ready");
      this.offer();
      this.change({}, this.presets.querySelector("button").dataset.preset);
      // A tab that opens gives its table a size, however it was opened; another run changes what stands in it.
      const fitted = () => this.offer();
      const resized = new ResizeObserver(fitted);
      const rewritten = new MutationObserver(fitted);
      for (const table of document.querySelectorAll("table.cost-model-fitted")) {
        resized.observe(table);
        rewritten.observe(table, { childList: true, subtree: true });
      }
      new ResizeObserver(() => {
        if (Math.round(this.canvas.clientWidth) !== this.width) this.draw();
      }).observe(this.canvas);
    }

    /** Make the presets from what stands in the table that can be seen now. */
    offer() {
      const { title, rows } = readFitted();
      const said = JSON.stringify([title, rows]);
      if (said === this.offered) return;
      this.offered = said;
      // The operation whose queue fills fastest.
      const ratio = ({ times: { t1, t2 } }) => t2 / (t1 || 1e-3);
      const [filling] = [...rows].sort((a, b) => ratio(b) - ratio(a));
      const presets = [["made-up", "Made-up times", FIRST, false]];
      for (const [k, { name, times: fitted }] of rows.entries())
        presets.push([`fitted-${k}`, name, { ...FITTED, ...fitted }, false]);
      if (filling) presets.push(["queue", "A queue of 1024", { ...LONG_QUEUE, ...filling.times }, true]);
      const focused = this.presets.contains(document.activeElement) ? document.activeElement.dataset.preset : null;
      const head = make(
        "span",
        { id: `${this.prefix}-presets` },
        rows.length
          ? `Begin with times that were made up, or that were fitted in this run${title && ` (${title})`}:`
          : "Begin with:",
      );
      this.presets.replaceChildren(
        head,
        ...presets.map(([name, text, values, whole]) => this.button(name, text, values, whole)),
      );
      this.presets.querySelector(`[data-preset="${focused}"]`)?.focus();
      const active = presets.find(([name]) => name === this.preset);
      if (active) this.change(active[2], this.preset);
      this.mark();
    }

    button(name, text, values, whole) {
      const button = make("button", { type: "button", "data-preset": name }, text);
      button.addEventListener("click", () => {
        (whole ? this.whole : this.begin).checked = true;
        this.change(values, name);
      });
      return button;
    }

    mark() {
      for (const button of this.presets.querySelectorAll("button")) {
        button.setAttribute("aria-pressed", String(button.dataset.preset === this.preset));
      }
    }

    change(values, preset = null) {
      Object.assign(this.inputs, values);
      this.preset = preset;
      this.mark();
      for (const [name, control] of Object.entries(this.controls)) {
        // What is being typed is not to be written over.
        if (control.value !== this.inputs[name]) control.show(this.inputs[name]);
      }
      this.unlimited.checked = this.inputs.capacity === null;
      if (this.inputs.capacity !== null) this.controls.capacity.last = this.inputs.capacity;
      this.update();
    }

    update() {
      this.prediction = predict(this.inputs);
      const { syncTotal, asyncTotal, regime } = this.prediction;
      const { n, t1, t2, t3 } = this.inputs;
      const [many, one, two, three] = [QUANTITIES.n, QUANTITIES.t1, QUANTITIES.t2, QUANTITIES.t3];
      const backend = regime === "backend-bound";
      this.regime.replaceChildren(make("strong", {}, regime), `: ${tellRegime(this.inputs, this.prediction)}.`);
      this.bars.sync.show(
        syncTotal,
        syncTotal,
        [n * t1, n * t2, n * t3],
        [many, " (", one, " + ", two, " + ", three, ")"],
      );
      this.bars.async.show(
        asyncTotal,
        syncTotal,
        [backend ? t1 : n * t1, backend ? n * t2 : t2, t3],
        backend ? [one, " + ", many, " ", two, " + ", three] : [many, " ", one, " + ", two, " + ", three],
      );
      this.gain.textContent = tellGain(this.prediction);
      this.drawSoon();
      clearTimeout(this.telling);
      this.telling = setTimeout(() => this.tell(), this.told.textContent ? PAUSE_MS : 0);
    }

    /** Draw once a frame, however many changes come before it. */
    drawSoon() {
      if (!this.drawn) this.draw();
      this.frame ??= requestAnimationFrame(() => {
        this.frame = null;
        this.draw();
      });
    }

    draw() {
      this.width = Math.round(this.canvas.clientWidth);
      if (!this.width || !this.prediction) return;
      this.drawn = draw(this.svg, this.inputs, this.prediction, {
        width: this.width,
        whole: this.whole.checked,
        pattern: this.pattern,
      });
    }

    tell() {
      const { regime, syncTotal, asyncTotal } = this.prediction;
      this.told.textContent = [
        `${operations(this.inputs.n)}, ${regime}: a wait after each takes ${toldTime(syncTotal)}, one wait ${toldTime(asyncTotal)}.`,
        tellQueue(this.prediction),
        ...(this.drawn ? [tellDrawn(this.inputs, this.prediction, this.drawn)] : []),
      ].join(" ");
    }
  }

  const start = () => {
    document.querySelectorAll("div.cost-model").forEach((root, number) => new View(root, number).start());
    // Not before: whatever fails above leaves the drawing where it is.
    for (const still of document.querySelectorAll(".cost-model-still")) still.hidden = true;
  };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", start);
  else start();
})();
