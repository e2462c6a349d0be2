/* Draws runs of the cost model in lanes, the time to the right. Rests on `model.js`; `view.js` says what to draw where.
 * Everything is drawn anew each time, at the width that there is, so that letters keep their size on a telephone. */
const costModelDrawing = (() => {
  "use strict";

  const LEFT = 66; // the names of the lanes
  const RIGHT = 6;
  const LANE = 26;
  const QUEUE = 44;
  const GAP = 6;
  const TITLE = 22;
  const LEAST = 2; // narrower bars are drawn as one
  const LETTERS = 12; // a bar this wide has room for its number
  const TICK = 48; // the least distance of two marks of the axis
  const ROWS = 3; // in a queue that never is longer each operation is drawn
  const FIRST = 10; // so many operations at least are "the first" ones

  const UNITS = [
    ["s", 1e6],
    ["ms", 1e3],
    ["µs", 1],
  ];

  /** Write a number with so many digits, or as a whole one. */
  const rounded = (number, digits = 3) => {
    const text = number >= 10 ** digits ? String(Math.round(number)) : String(Number(number.toPrecision(digits)));
    return number >= 1e4 ? text.replace(/\B(?=(\d{3})+(?!\d))/g, "\u202f") : text;
  };

  /** Write microseconds in the unit that suits them. */
  const toldTime = (us) => {
    // 999.7 rounds to the next unit's 1.
    const [unit, factor] = UNITS.find(([, size]) => us >= 0.9995 * size) ?? UNITS[2];
    return `${rounded(us / factor)}\u00a0${unit}`;
  };

  const element = (name, attributes = {}, text = "") => {
    const made = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) {
      made.setAttribute(key, typeof value === "number" ? String(Math.round(100 * value) / 100) : value);
    }
    made.textContent = text;
    return made;
  };

  /** Join what is too short and too close to be seen apart; `share` is the part of its time that is not idle. */
  const toldApart = (spans, least) => {
    const told = [];
    for (const { from, to, label } of spans) {
      const last = told.at(-1);
      if (last?.short && to - from < least && from - last.to < least) {
        Object.assign(last, { to, busy: last.busy + to - from, label: "" });
      } else {
        told.push({ from, to, label, busy: to - from, short: to - from < least });
      }
    }
    return told.map((each) => ({ ...each, share: each.to > each.from ? each.busy / (each.to - each.from) : 1 }));
  };

  /** How much time is drawn, in microseconds. */
  const windowOf = (inputs, prediction, whole) => {
    if (whole) return prediction.asyncTotal || 1;
    const { n, t1, t2, t3 } = inputs;
    const last = prediction.operations[Math.min(n, FIRST) - 1];
    const shown = Math.max(n <= FIRST ? prediction.asyncTotal : last.end, Math.min(n, 3) * (t1 + t2 + t3));
    return (n <= FIRST ? prediction.syncTotal : Math.min(prediction.syncTotal, shown)) || 1;
  };

  const ticksOf = (end, room) => {
    const least = (end * TICK) / room;
    const power = 10 ** Math.floor(Math.log10(least));
    const step = power * [1, 2, 5, 10].find((factor) => factor * power >= least);
    return Array.from({ length: Math.floor(end / step + 1e-9) + 1 }, (_, k) => k * step);
  };

  const callsOf = (operations) => operations.map(({ issue, called }, k) => ({ from: issue, to: called, label: k + 1 }));
  const workOf = (operations) => operations.map(({ start, end }, k) => ({ from: start, to: end, label: k + 1 }));

  /** Draw into an `<svg>`: one wait above, a wait after each below, on one axis. */
  const draw = (svg, inputs, prediction, { width, whole, pattern }) => {
    const end = windowOf(inputs, prediction, whole);
    const room = width - LEFT - RIGHT;
    const x = (time) => LEFT + (Math.min(time, end) / end) * room;
    const parts = [];
    const put = (name, attributes, text) => parts.push(element(name, attributes, text));
    let y = 0;

    const title = (text) => {
      put("text", { x: 0, y: y + 14, class: "cost-model-title" }, text);
      y += TITLE;
    };
    const laneName = (text, height) => put("text", { x: 0, y: y + height / 2 + 4 }, text);
    const bars = (spans, kind, top = y, full = LANE) => {
      const seen = spans.filter(({ from, to }) => from < end && to > from);
      for (const { from, to, label, share } of toldApart(seen, (LEAST * end) / room)) {
        const wide = x(to) - x(from);
        const height = full * Math.max(share, 0.1);
        const gap = wide > 4 ? 1 : 0;
        const box = {
          x: x(from),
          y: top + (full - height) / 2,
          width: Math.max(wide - gap, 0.7),
          height,
          rx: wide > 8 ? 3 : 0,
        };
        put("rect", { ...box, class: `cost-model-${kind}`, ...(kind === "wait" && { fill: `url(#${pattern})` }) });
        if (label && full >= LETTERS && wide >= LETTERS + 7 * (String(label).length - 1)) {
          put(
            "text",
            { x: (x(from) + x(to) - gap) / 2, y: top + full / 2 + 4, class: "cost-model-number" },
            String(label),
          );
        }
      }
    };
    const lane = (name, groups) => {
      laneName(name, LANE);
      for (const [kind, spans] of groups) bars(spans, kind);
      y += LANE + GAP;
    };
    /** Each operation that waits, in rows; those that begin to wait later stand above. */
    const queueRows = (operations, rows, height) => {
      const free = Array.from({ length: rows }, () => 0);
      operations.forEach(({ issued, start }, k) => {
        if (start <= issued) return;
        const row = free.findIndex((time) => time <= issued);
        free[row] = start;
        bars([{ from: issued, to: start, label: k + 1 }], "queue", y + QUEUE - (row + 1) * height, height - 1);
      });
    };
    const queueArea = (lengths, heightOf) => {
      let path = `M${LEFT} ${heightOf(0)}`;
      let column = null;
      for (const [time, length] of lengths) {
        // Of several steps within half a pixel the highest is drawn.
        const at = Math.round(2 * x(time)) / 2;
        const shown = column?.at === at ? Math.max(column.shown, length) : length;
        path += `${column?.at === at ? "" : `H${at}`}V${heightOf(shown).toFixed(1)}`;
        column = { at, shown };
      }
      put("path", { d: `${path}H${x(prediction.asyncTotal).toFixed(1)}V${heightOf(0)}Z`, class: "cost-model-queue" });
    };
    const queueLane = (operations, { lengths, longestQueue }, capacity) => {
      const seen = lengths.filter(([time]) => time < end);
      const most = seen.reduce((longest, [, length]) => Math.max(longest, length), 0);
      const limited = capacity !== null && capacity <= 1.5 * most;
      const top = Math.max(most, limited ? capacity : 1);
      const heightOf = (length) => y + QUEUE - (length / top) * (QUEUE - 4);
      laneName("queue", QUEUE);
      if (top <= ROWS && seen.length < room / LETTERS) queueRows(operations, top, (QUEUE - 4) / top);
      else queueArea(seen, heightOf);
      put("path", { d: `M${LEFT} ${y + QUEUE}H${width - RIGHT}`, class: "cost-model-line" });
      if (limited) put("path", { d: `M${LEFT} ${heightOf(capacity)}H${width - RIGHT}`, class: "cost-model-limit" });
      if (longestQueue === 0) put("text", { x: LEFT + 4, y: y + QUEUE - 8 }, "always empty");
      else put("text", { x: LEFT - 4, y: heightOf(top) + 8, class: "cost-model-scale" }, rounded(top, 5));
      y += QUEUE + GAP;
    };

    const seen = prediction.operations.filter(({ issue, start }) => Math.min(issue, start) < end);
    const lastIssued = prediction.operations.at(-1).issued;
    const waits = seen.map(({ called, issued }) => ({ from: called, to: issued }));
    title(`One wait: ${toldTime(prediction.asyncTotal)}`);
    lane("frontend", [
      ["wait", [...waits, { from: lastIssued, to: prediction.asyncTotal }]],
      ["call", callsOf(seen)],
    ]);
    queueLane(seen, prediction, inputs.capacity);
    lane("backend", [["work", workOf(seen)]]);

    y += 10;
    const { n, t1, t2, t3 } = inputs;
    const count = Math.min(n, Math.ceil(end / (t1 + t2 + t3 || 1)) + 1);
    const each = costModel.scheduleOfWaits({ ...inputs, n: count });
    title(`A wait after each: ${toldTime(prediction.syncTotal)}`);
    lane("frontend", [
      ["wait", each.map(({ issued, answered }) => ({ from: issued, to: answered }))],
      ["call", callsOf(each)],
    ]);
    lane("backend", [["work", workOf(each)]]);

    const [unit, factor] = UNITS.find(([, size]) => end >= size) ?? UNITS[2];
    put("path", { d: `M${LEFT} ${y}H${width - RIGHT}`, class: "cost-model-line" });
    for (const time of ticksOf(end, room)) {
      put("path", { d: `M${x(time).toFixed(1)} ${y}v5`, class: "cost-model-line" });
      const anchor = x(time) > width - RIGHT - 12 ? "end" : "middle";
      put("text", { x: x(time), y: y + 18, "text-anchor": anchor }, rounded(time / factor));
    }
    put("text", { x: 0, y: y + 18 }, `in ${unit}`);

    svg.querySelectorAll(":scope > :not(defs)").forEach((part) => part.remove());
    svg.append(...parts);
    svg.setAttribute("viewBox", `0 0 ${width} ${y + 24}`);
    svg.setAttribute("height", String(y + 24));
    // Rounding is not to make an operation that ends with the drawing one that does not.
    const drawn = (ends) => ends.filter((time) => time <= end * (1 + 1e-9)).length;
    return { end, once: drawn(seen.map((each) => each.end)), each: drawn(each.map((one) => one.end)) };
  };

  return { draw, element, rounded, toldTime };
})();
