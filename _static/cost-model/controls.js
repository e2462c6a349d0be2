/* The controls and bars of the cost model to play with: a slider with a field for each quantity, a bar for each total.
 * Rests on `drawing.js` for how numbers are written; `view.js` puts them together. */
const costModelControls = (() => {
  "use strict";
  const { rounded, toldTime } = costModelDrawing;

  const STEPS = [1, 1.2, 1.4, 1.6, 1.8, 2, 2.5, 3, 3.5, 4, 5, 6, 7, 8, 9];
  /** Round values from `least` to `most`, about equally far apart on a logarithmic scale. */
  const stops = (least, most, keep = () => true) => {
    const made = [];
    for (let power = least; power < most * 1.01; power *= 10)
      made.push(...STEPS.map((step) => Number((step * power).toPrecision(3))));
    return made.filter((value) => value <= most && keep(value));
  };
  const twos = Array.from({ length: 14 }, (_, power) => 2 ** power);
  const times = { stops: stops(0.1, 1e5), least: 0, most: 1e8, unit: "µs", told: toldTime };
  const QUANTITIES = {
    n: { label: "operations", symbol: "n", stops: stops(1, 1e4, Number.isInteger), least: 1, most: 1e4, whole: true },
    t1: { label: "to issue one", symbol: "t", index: "1", ...times },
    t2: { label: "to compute one", symbol: "t", index: "2", ...times },
    t3: { label: "to answer", symbol: "t", index: "3", ...times },
    capacity: {
      label: "room in the queue",
      stops: [...twos, 3, 5, 6, 12, 24].sort((a, b) => a - b),
      least: 1,
      most: 1e4,
      whole: true,
    },
  };
  const make = (name, attributes = {}, ...children) => {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) made.setAttribute(key, value);
    made.append(...children);
    return made;
  };
  const symbolOf = ({ symbol, index }) => [
    ...(symbol ? [make("i", {}, symbol)] : []),
    ...(index ? [make("sub", {}, index)] : []),
  ];

  class Control {
    /** A slider and a field for one quantity; calls `changed` with each new value. */
    constructor(name, prefix, changed) {
      this.quantity = QUANTITIES[name];
      const id = `${prefix}-${name}`;
      const { label, unit = "", least, most, whole } = this.quantity;
      const bounds = `${rounded(least, 9)} to ${rounded(most, 9)}`;
      this.shown = make("output", { for: `${id} ${id}-exact` });
      this.slider = make("input", { type: "range", id, min: 0, max: this.quantity.stops.length - 1, step: 1 });
      this.field = make("input", { type: "number", id: `${id}-exact`, min: least, max: most, step: whole ? 1 : "any" });
      this.field.setAttribute(
        "aria-label",
        `${[this.quantity.symbol, this.quantity.index].join("")} ${label}, exactly${unit && ", in microseconds"}`.trim(),
      );
      this.field.setAttribute("aria-describedby", `${id}-error`);
      this.error = make("span", { class: "cost-model-error", id: `${id}-error` });
      this.wrong = `Allowed: ${whole ? "a whole number, " : ""}${bounds}${unit && ` ${unit}`}.`;
      const head = make("label", { for: id }, ...symbolOf(this.quantity), " ", label);
      this.row = make(
        "div",
        { class: `cost-model-control cost-model-of-${name}` },
        head,
        this.shown,
        this.slider,
        make("span", { class: "cost-model-exact" }, this.field, unit ? ` ${unit}` : ""),
        this.error,
      );
      this.slider.addEventListener("input", () => this.take(this.quantity.stops[this.slider.valueAsNumber], changed));
      this.field.addEventListener("input", () => this.take(this.field.valueAsNumber, changed, true));
      // What was refused gives way to what counts.
      this.field.addEventListener("blur", () => this.show(this.value));
    }

    take(value, changed, typed = false) {
      const { least, most, whole } = this.quantity;
      const right = value >= least && value <= most && !(whole && !Number.isInteger(value));
      this.field.setAttribute("aria-invalid", String(!right));
      this.error.textContent = right ? "" : this.wrong;
      if (!right) return;
      this.show(value, typed);
      changed(value);
    }

    show(value, typed = false) {
      const { told = (number) => rounded(number, 5), stops: places } = this.quantity;
      const unlimited = value === null;
      this.value = value;
      this.slider.disabled = unlimited;
      this.field.disabled = unlimited;
      this.shown.textContent = unlimited ? "no limit" : told(value);
      if (unlimited) return;
      const distance = (stop) => Math.abs(Math.log(stop / Math.max(value, places[0])));
      const nearest = places.reduce((best, stop, k) => (distance(stop) < distance(places[best]) ? k : best), 0);
      if (this.slider.valueAsNumber !== nearest) this.slider.value = String(nearest);
      this.slider.setAttribute("aria-valuetext", told(value));
      if (!typed) {
        this.field.value = String(value);
        this.field.setAttribute("aria-invalid", "false");
        this.error.textContent = "";
      }
    }
  }

  class Bar {
    /** A total as a bar of the three times' parts, with its formula and its value. */
    constructor(name) {
      this.value = make("output", {});
      this.formula = make("span", { class: "cost-model-formula" });
      this.parts = ["t1", "t2", "t3"].map((part) => make("span", { class: `cost-model-part cost-model-of-${part}` }));
      this.row = make(
        "div",
        { class: "cost-model-total" },
        make("span", {}, `${name} `, this.formula),
        this.value,
        make("span", { class: "cost-model-bar", "aria-hidden": "true" }, ...this.parts),
      );
    }

    show(total, longest, parts, formula) {
      this.value.textContent = toldTime(total);
      this.formula.replaceChildren(...formula.flatMap((each) => (typeof each === "string" ? [each] : symbolOf(each))));
      parts.forEach((part, k) => {
        this.parts[k].style.width = `${longest ? (100 * part) / longest : 0}%`;
      });
    }
  }

  return { Bar, Control, QUANTITIES, make };
})();
