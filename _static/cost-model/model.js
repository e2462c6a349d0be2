/* The arithmetic of the cost model, as `PipelineModel` of `asynclab` has it: the same recurrences in the same order, so
 * that both give the same numbers to the last bit. Knows nothing of a page; `view.js` draws what it says, and
 * `tests/test_interactive.py` compares the two. Times are in one unit of the caller's; a capacity of `null` is none. */
const costModel = (() => {
  "use strict";

  /** When each of `n` operations is asked for and computed, with one wait at the end. */
  const schedule = ({ n, t1, t2, capacity }) => {
    const operations = [];
    let issue = 0;
    let end = 0;
    for (let k = 0; k < n; k += 1) {
      let issued = issue + t1;
      // With a full queue a call returns when there is room: when the one `capacity` places before leaves the queue.
      if (capacity !== null && k >= capacity) issued = Math.max(issued, operations[k - capacity].start);
      const start = Math.max(issued, end);
      end = start + t2;
      operations.push({ issue, called: issue + t1, issued, start, end });
      issue = issued;
    }
    return operations;
  };

  /** The same with a wait after each, for the first `n` operations. */
  const scheduleOfWaits = ({ n, t1, t2, t3 }) =>
    Array.from({ length: n }, (_, k) => {
      const issue = k * (t1 + t2 + t3);
      const end = issue + t1 + t2;
      return { issue, called: issue + t1, issued: issue + t1, start: issue + t1, end, answered: end + t3 };
    });

  /** How many operations wait in the queue, from each moment on: `[time, length]`, the times ascending. */
  const queueLengths = (operations) => {
    const steps = [[0, 0]];
    let entered = 0;
    let left = 0;
    while (left < operations.length) {
      const time = Math.min(operations[entered]?.issued ?? Infinity, operations[left].start);
      while (operations[entered]?.issued <= time) entered += 1;
      while (operations[left]?.start <= time) left += 1; // one that the worker takes at once never waits
      if (steps.at(-1)[1] !== entered - left) steps.push([time, entered - left]);
    }
    return steps;
  };

  /** The most operations that are issued and not finished at any one time. */
  const mostPending = (operations) => {
    let most = 0;
    let finished = 0;
    operations.forEach(({ issued }, k) => {
      while (finished <= k && operations[finished].end <= issued) finished += 1;
      most = Math.max(most, k + 1 - finished);
    });
    return most;
  };

  /** What the model says of `{ n, t1, t2, t3, capacity }`. */
  const predict = ({ n, t1, t2, t3, capacity }) => {
    const operations = schedule({ n, t1, t2, capacity });
    const lengths = queueLengths(operations);
    return {
      syncTotal: n * (t1 + t2 + t3),
      asyncTotal: n * Math.max(t1, t2) + Math.min(t1, t2) + t3,
      issueTime: capacity === null ? n * t1 : Math.max(n * t1, t1 + (n - 1 - capacity) * t2),
      pending: mostPending(operations),
      longestQueue: lengths.reduce((most, [, length]) => Math.max(most, length), 0),
      waitForRoom: operations.reduce((sum, { called, issued }) => sum + (issued - called), 0),
      regime: t2 >= t1 ? "backend-bound" : "frontend-bound",
      operations,
      lengths,
    };
  };

  return { predict, queueLengths, schedule, scheduleOfWaits };
})();
